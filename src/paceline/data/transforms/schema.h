#pragma once

#include "paceline/config/registry.h"
#include "paceline/config/schema.h"
#include "paceline/data/transforms/configs.h"

#include <array>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// The transforms by name, for recipes and `list transforms`.
using TransformRegistry = config::Registry<TransformConfig>;

/// Adds every alternative of TransformConfig.
void register_transforms(TransformRegistry& registry);

/// Throws ConfigError that names each value its schema does not allow.
void check_values(const TransformConfig& transform);

}  // namespace paceline::data

namespace paceline::config {

template <>
struct EnumNames<data::Interpolation> {
  static constexpr std::array names{EnumName{data::Interpolation::kBilinear, "bilinear"},
                                    EnumName{data::Interpolation::kBicubic, "bicubic"}};
};

template <>
struct Schema<data::RandomResizedCropConfig> {
  using Config = data::RandomResizedCropConfig;
  static constexpr std::string_view name = "random_resized_crop";
  static constexpr std::string_view summary =
      "A box of random area and ratio, resized to a square.";
  static constexpr std::string_view paper =
      "Szegedy et al., \"Going deeper with convolutions\", CVPR 2015.";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Side of the result in pixels.", AtLeast{1}),
      field(&Config::scale, "scale", "Lowest and highest share of the image's area.",
            InRange{0, 1}),
      field(&Config::ratio, "ratio", "Lowest and highest width / height of the box.", MoreThan{0}),
      field(&Config::interpolation, "interpolation", "Antialiased filter of the resize.")};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct Schema<data::RandomCropConfig> {
  using Config = data::RandomCropConfig;
  static constexpr std::string_view name = "random_crop";
  static constexpr std::string_view summary = "A square piece from a random place.";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Side of the piece in pixels.", AtLeast{1}),
      field(&Config::padding, "padding", "Black pixels added on each side first.", AtLeast{0})};
};

template <>
struct Schema<data::RandomHorizontalFlipConfig> {
  using Config = data::RandomHorizontalFlipConfig;
  static constexpr std::string_view name = "random_horizontal_flip";
  static constexpr std::string_view summary = "Mirrors left and right.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the mirrored image.", InRange{0, 1})};
};

template <>
struct Schema<data::ColorJitterConfig> {
  using Config = data::ColorJitterConfig;
  static constexpr std::string_view name = "color_jitter";
  static constexpr std::string_view summary = "Random changes of the colours, in random order.";
  static constexpr auto fields =
      std::tuple{field(&Config::brightness, "brightness",
                       "Factor from max(0, 1 - v) to 1 + v; 0: none.", AtLeast{0}),
                 field(&Config::contrast, "contrast",
                       "Factor from max(0, 1 - v) to 1 + v; 0: none.", AtLeast{0}),
                 field(&Config::saturation, "saturation",
                       "Factor from max(0, 1 - v) to 1 + v; 0: none.", AtLeast{0}),
                 field(&Config::hue, "hue", "Turn from -v to v of the colour circle; 0: none.",
                       InRange{0, 0.5})};
};

template <>
struct Schema<data::ResizeConfig> {
  using Config = data::ResizeConfig;
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view summary = "Resizes the shorter side; the ratio stays.";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Shorter side of the result in pixels.", AtLeast{1}),
      field(&Config::interpolation, "interpolation", "Antialiased filter of the resize.")};
};

template <>
struct Schema<data::CenterCropConfig> {
  using Config = data::CenterCropConfig;
  static constexpr std::string_view name = "center_crop";
  static constexpr std::string_view summary =
      "The square piece in the middle; black where the image is smaller.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the piece in pixels.", AtLeast{1})};
};

template <>
struct Schema<data::NormalizeConfig> {
  using Config = data::NormalizeConfig;
  static constexpr std::string_view name = "normalize";
  static constexpr std::string_view summary =
      "(x / 255 - mean) / std for each channel; the last transform.";
  static constexpr auto fields =
      std::tuple{field(&Config::mean, "mean", "Of red, green and blue."),
                 field(&Config::std, "std", "Of red, green and blue.", MoreThan{0})};
};

}  // namespace paceline::config
