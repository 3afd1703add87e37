#pragma once

#include "paceline/optim/lr_find/lr_range.h"

#include <array>
#include <cstdint>
#include <optional>

namespace paceline::optim {

/// How a learning rate is read off a range test. Each smooths and cuts the curve as its own library
/// does, whatever the test's style.
enum class LrRule {
  kValley,    ///< fastai: two thirds into the longest decreasing part
  kSteepest,  ///< Lightning: where the loss falls fastest by the rate itself, not its logarithm
  kMinimum,   ///< fastai: a tenth of the rate with the least loss
  kSlide,     ///< fastai: left of where the slope begins to change, seen from the end
};

inline constexpr std::array kLrRules{LrRule::kValley, LrRule::kSteepest, LrRule::kMinimum,
                                     LrRule::kSlide};

/// What a library takes unless it is told otherwise.
LrRule usual_rule(LrFindStyle style);

/// The rate that a rule finds in the curve of a test of `num_steps` steps, which may have ended
/// before; nothing where it has too few points.
std::optional<double> suggested_rate(LrRule rule, const LrCurve& curve, std::int64_t num_steps);

}  // namespace paceline::optim

template <>
struct paceline::config::EnumNames<paceline::optim::LrRule> {
  using Rule = paceline::optim::LrRule;
  static constexpr std::array names{
      EnumName{Rule::kValley, "valley"}, EnumName{Rule::kSteepest, "steepest"},
      EnumName{Rule::kMinimum, "minimum"}, EnumName{Rule::kSlide, "slide"}};
};
