#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Draws top, left; of arrays where it begins along each axis.
struct RandomCropConfig {
  config::Sides size = 32;
  int padding = 0;  ///< black pixels added on each side first
  std::vector<std::string> fields = {};
};

std::unique_ptr<Transform> make(const RandomCropConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomCropConfig> {
  using Config = data::RandomCropConfig;
  static constexpr std::string_view name = "random_crop";
  static constexpr std::string_view summary =
      "A piece from a random place of an image, or the same of all fields of a sample of arrays.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size",
                       "Side of the piece in pixels, or [height, width]; of "
                       "arrays a length for each of the last axes.",
                       AtLeast{1}, AtMost{16384, "no image has a longer side"}),
                 field(&Config::padding, "padding", "Black pixels added on each side first.",
                       AtLeast{0}, AtMost{16384, "no image has a longer side"}),
                 field(&Config::fields, "fields",
                       "Which fields of arrays to cut; empty: all with two axes or more.")};
};
