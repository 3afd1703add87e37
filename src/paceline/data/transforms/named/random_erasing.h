#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// What a box is filled with: `value`; three normal numbers, one for each channel; a normal number
/// for each byte of it.
enum class ErasingMode { kConst, kRand, kPixel };

/// Boxes of the normalised image become what `mode` says; behind normalize, the last transform.
/// Their area together is about a share from `scale` of the image's, each one's height / width is
/// from `ratio`. Draws one uniform number, below p to erase; how many boxes, if `count` leaves a
/// choice; then for each up to 10 times area and log of the ratio; once they fit: top, left; and
/// what the mode needs: three normal numbers, or the noise's seed. As timm's RandomErasing, and
/// with one box as torchvision's, whose value='random' is `mode: pixel`.
struct RandomErasingConfig {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  ErasingMode mode = ErasingMode::kConst;
  std::array<double, 3> value = {0.0, 0.0, 0.0};
  std::array<int, 2> count = {1, 1};
};

std::unique_ptr<Transform> make(const RandomErasingConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::ErasingMode> {
  static constexpr std::array names{EnumName{data::ErasingMode::kConst, "const"},
                                    EnumName{data::ErasingMode::kRand, "rand"},
                                    EnumName{data::ErasingMode::kPixel, "pixel"}};
};

template <>
struct paceline::config::Schema<paceline::data::RandomErasingConfig> {
  using Config = data::RandomErasingConfig;
  static constexpr std::string_view name = "random_erasing";
  static constexpr std::string_view summary =
      "Fills random boxes of the normalised image; the last transform.";
  static constexpr std::string_view paper =
      "Zhong et al., \"Random erasing data augmentation\", AAAI 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::p, "p", "Probability of erasing.", InRange{0, 1}),
      field(&Config::scale, "scale", "Lowest and highest share of the image's area that is filled.",
            InRange{0, 1}),
      field(&Config::ratio, "ratio", "Lowest and highest height / width of a box.", MoreThan{0},
            AtMost{1000, "nothing is left of an image"}),
      field(&Config::mode, "mode",
            "const: filled with value; rand: with a random colour; pixel: with noise; "
            "the last two are normal numbers, after normalize."),
      field(&Config::value, "value", "What const fills boxes with, after normalize.",
            InRange{-1000, 1000}),
      field(&Config::count, "count", "Fewest and most boxes, which share the area that scale says.",
            AtLeast{1}, AtMost{1000, "nothing is left of an image"})};
  static void validate(const Config& values, Problems& problems);
};
