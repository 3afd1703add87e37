#pragma once

#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/config/schema.h"

#include <array>

namespace paceline::algorithms {

/// How two algorithms that mix the same samples go together.
enum class Turns {
  kSwitch,      ///< one of them for each group of samples, drawn, each as likely (as timm)
  kSequential,  ///< both, one after the other (as Composer)
  kAlternate,   ///< one in even steps, the other in odd ones
};

/// Which of the two.
enum class TurnOf { kFirst, kSecond };

/// Whether it mixes what is drawn by this key; both evaluate it, and agree.
bool has_turn(Turns turns, TurnOf which, const GroupKey& key);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::Turns> {
  static constexpr std::array names{
      EnumName{paceline::algorithms::Turns::kSwitch, "switch"},
      EnumName{paceline::algorithms::Turns::kSequential, "sequential"},
      EnumName{paceline::algorithms::Turns::kAlternate, "alternate"}};
};
