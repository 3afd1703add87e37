#pragma once

#include "paceline/config/schema.h"

#include <array>

namespace paceline::algorithms {

/// Which weights evaluations measure where an algorithm keeps an average of the trained ones.
enum class EvaluatedWeights {
  kBoth,     ///< the trained ones, and the average besides, under names of its own
  kAverage,  ///< the average in place of the trained ones (AlgorithmTraits::stands_for_weights)
};

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::EvaluatedWeights> {
  using Weights = paceline::algorithms::EvaluatedWeights;
  static constexpr std::array names{EnumName{Weights::kBoth, "both"},
                                    EnumName{Weights::kAverage, "average"}};
};
