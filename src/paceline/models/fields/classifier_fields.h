#pragma once

#include "paceline/config/schema.h"

#include <string_view>
#include <tuple>

namespace paceline::models {

/// The fields of Configs of classifiers that take images of any size.
template <class Config>
constexpr auto classifier_fields() {
  using namespace config;
  return std::tuple{
      field(&Config::num_classes, "num_classes", "Outputs of the classifier.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"}),
      field(&Config::head, "head",
            "What the classifier makes of its features: linear (a linear layer), mlp "
            "(one as wide as the features, GELU, and one to the classes) or none (the "
            "features are given out, for a task that takes them)."),
      field(&Config::in_channels, "in_channels", "Channels of the images.", AtLeast{1},
            AtMost{65536, "no image has more"})};
}

/// A factor on the channels of layers, which are multiples of 8.
template <class Config>
constexpr auto width_field() {
  using namespace config;
  return field(&Config::width_mult, "width_mult",
               "Factor on the numbers of channels, which are rounded to multiples of 8.",
               MoreThan{0.0}, AtMost{100, "no model is wider"});
}

/// What a network leaves out in training. `drop_path_help` says which block has which rate.
template <class Config>
constexpr auto drop_fields(std::string_view drop_path_help) {
  using namespace config;
  return std::tuple{field(&Config::drop_rate, "drop_rate", "Dropout before the last layer.",
                          InRange{0, 1}, MayChangeOnResume{}),
                    field(&Config::drop_path_rate, "drop_path_rate", drop_path_help, InRange{0, 1},
                          MayChangeOnResume{})};
}

}  // namespace paceline::models
