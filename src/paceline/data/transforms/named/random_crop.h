#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Draws top, left.
struct RandomCropConfig {
  int size = 32;
  int padding = 0;  ///< black pixels added on each side first
};

std::unique_ptr<Transform> make(const RandomCropConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomCropConfig> {
  using Config = data::RandomCropConfig;
  static constexpr std::string_view name = "random_crop";
  static constexpr std::string_view summary = "A square piece from a random place.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the piece in pixels.", AtLeast{1},
                       AtMost{16384, "no image has a longer side"}),
                 field(&Config::padding, "padding", "Black pixels added on each side first.",
                       AtLeast{0}, AtMost{16384, "no image has a longer side"})};
};
