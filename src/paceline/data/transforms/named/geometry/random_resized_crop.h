#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Names and defaults of all transforms are torchvision's. A box of random area and ratio becomes
/// an image of this size. Draws up to 10 times area and log of the ratio; once they fit: top, left.
struct RandomResizedCropConfig {
  config::Sides size = 224;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation interpolation = Interpolation::kBilinear;
};

std::unique_ptr<Transform> make(const RandomResizedCropConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomResizedCropConfig> {
  using Config = data::RandomResizedCropConfig;
  static constexpr std::string_view name = "random_resized_crop";
  static constexpr std::string_view summary =
      "A box of random area and ratio, resized to one size.";
  static constexpr std::string_view paper =
      "Szegedy et al., \"Going deeper with convolutions\", CVPR 2015.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the result in pixels, or [height, width].",
                       AtLeast{1}, AtMost{16384, "no image has a longer side"}),
                 field(&Config::scale, "scale", "Lowest and highest share of the image's area.",
                       InRange{0, 1}),
                 field(&Config::ratio, "ratio", "Lowest and highest width / height of the box.",
                       MoreThan{0}, AtMost{1000, "nothing is left of an image"}),
                 field(&Config::interpolation, "interpolation",
                       "Filter of the resize; random: bilinear or bicubic.")};
  static void validate(const Config& values, Problems& problems);
};
