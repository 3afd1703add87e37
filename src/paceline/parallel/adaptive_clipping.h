#pragma once

#include "paceline/config/schema.h"

#include <string_view>
#include <tuple>

namespace paceline::parallel {

class Strategy;  // parallel/strategy.h

/// The section `train.grad_clip_adaptive` of a recipe.
struct AdaptiveClipping {
  double threshold = 0.01;
  double floor = 0.0;
};

/// Scales the gradient of each unit down so that its Euclidean norm is at most `threshold` times
/// that of the unit's weights, which counts as `floor` at least. A unit is what makes one output: a
/// row of a matrix, a filter of a convolution; a vector is one unit. Without a floor units whose
/// weights are zeros never move, as in Composer; timm's floor is 1e-3. A gradient that is not
/// finite stays as it is. Norms are over every shard, in float32 (float64 for float64 gradients).
/// For use as the functions of gradient_clipping.h. Every rank must call it. Paper: Brock et al.,
/// "High-performance large-scale image recognition without normalization", ICML 2021.
void clip_grad_adaptive(Strategy& strategy, const AdaptiveClipping& clipping);

}  // namespace paceline::parallel

template <>
struct paceline::config::Schema<paceline::parallel::AdaptiveClipping> {
  using Config = paceline::parallel::AdaptiveClipping;
  static constexpr std::string_view name = "grad_clip_adaptive";
  static constexpr std::string_view summary =
      "Clip the gradients of each output unit by the norm of its weights.";
  static constexpr std::string_view paper = "Brock et al., ICML 2021";
  static constexpr auto fields = std::tuple{
      field(&Config::threshold, "threshold",
            "Largest norm of a unit's gradient over that of its weights.", MoreThan{0},
            AtMost{1e30, "float32 ends at 3e38"}, MayChangeOnResume{}),
      field(&Config::floor, "floor",
            "The least that the norm of a unit's weights counts as: 0 (as Composer), with which "
            "units of zeros never move, or 1e-3 (as timm).",
            AtLeast{0}, AtMost{1e30, "float32 ends at 3e38"}, MayChangeOnResume{})};
};
