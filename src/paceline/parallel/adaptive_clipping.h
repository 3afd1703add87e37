#pragma once

#include "paceline/config/schema.h"

#include <string_view>
#include <tuple>

namespace paceline::parallel {

/// The section `train.grad_clip_adaptive` of a recipe: see parallel/adaptive_clipper.h.
struct AdaptiveClipping {
  double threshold = 0.01;
  double floor = 0.0;
};

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
