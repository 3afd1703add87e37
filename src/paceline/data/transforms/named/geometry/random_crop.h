#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Draws top, left; of arrays where it begins along each axis.
struct RandomCropConfig {
  config::Sides size = 32;
  int padding = 0;  ///< pixels added on each side first
  EdgePadding padding_mode = EdgePadding::kConstant;
  std::vector<std::string> fields = {};
};

std::unique_ptr<Transform> make(const RandomCropConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::EdgePadding> {
  using Padding = paceline::data::EdgePadding;
  static constexpr std::array names{
      EnumName{Padding::kConstant, "constant"}, EnumName{Padding::kEdge, "edge"},
      EnumName{Padding::kReflect, "reflect"}, EnumName{Padding::kSymmetric, "symmetric"}};
};

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
                 field(&Config::padding, "padding", "Pixels added on each side first.", AtLeast{0},
                       AtMost{16384, "no image has a longer side"}),
                 field(&Config::padding_mode, "padding_mode",
                       "What they are: constant (black), edge (the nearest pixel), reflect (the "
                       "image mirrored, its last pixel once) or symmetric (twice)."),
                 field(&Config::fields, "fields",
                       "Which fields of arrays to cut; empty: all with two axes or more.")};
};
