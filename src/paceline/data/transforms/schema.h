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
struct EnumNames<data::AffineInterpolation> {
  static constexpr std::array names{EnumName{data::AffineInterpolation::kNearest, "nearest"},
                                    EnumName{data::AffineInterpolation::kBilinear, "bilinear"}};
};

template <>
struct EnumNames<data::AugmentPolicy> {
  static constexpr std::array names{EnumName{data::AugmentPolicy::kImageNet, "imagenet"},
                                    EnumName{data::AugmentPolicy::kCifar10, "cifar10"},
                                    EnumName{data::AugmentPolicy::kSvhn, "svhn"}};
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
      field(&Config::size, "size", "Side of the result in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&Config::scale, "scale", "Lowest and highest share of the image's area.",
            InRange{0, 1}),
      field(&Config::ratio, "ratio", "Lowest and highest width / height of the box.", MoreThan{0},
            AtMost{1000, "nothing is left of an image"}),
      field(&Config::interpolation, "interpolation", "Antialiased filter of the resize.")};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct Schema<data::RandomCropConfig> {
  using Config = data::RandomCropConfig;
  static constexpr std::string_view name = "random_crop";
  static constexpr std::string_view summary = "A square piece from a random place.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the piece in pixels.", AtLeast{1},
                       AtMost{16384, "no image has a longer side"}),
                 field(&Config::padding, "padding", "Black pixels added on each side first.",
                       AtLeast{0}, AtMost{16384, "no image has a longer side"})};
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
struct Schema<data::RandomVerticalFlipConfig> {
  using Config = data::RandomVerticalFlipConfig;
  static constexpr std::string_view name = "random_vertical_flip";
  static constexpr std::string_view summary = "Mirrors top and bottom.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the mirrored image.", InRange{0, 1})};
};

template <>
struct Schema<data::RandomGrayscaleConfig> {
  using Config = data::RandomGrayscaleConfig;
  static constexpr std::string_view name = "random_grayscale";
  static constexpr std::string_view summary = "Makes all three channels the luma; p = 1: always.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the grey image.", InRange{0, 1})};
};

template <>
struct Schema<data::ColorJitterConfig> {
  using Config = data::ColorJitterConfig;
  static constexpr std::string_view name = "color_jitter";
  static constexpr std::string_view summary = "Random changes of the colours, in random order.";
  static constexpr auto fields = std::tuple{
      field(&Config::brightness, "brightness", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::contrast, "contrast", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::saturation, "saturation", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::hue, "hue", "Turn from -v to v of the colour circle; 0: none.",
            InRange{0, 0.5})};
};

template <>
struct Schema<data::RandomRotationConfig> {
  using Config = data::RandomRotationConfig;
  static constexpr std::string_view name = "random_rotation";
  static constexpr std::string_view summary = "Turns by a random angle around the middle.";
  static constexpr auto fields =
      std::tuple{field(&Config::degrees, "degrees", "Lowest and highest angle, counter-clockwise.",
                       InRange{-360, 360}),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct Schema<data::RandomAffineConfig> {
  using Config = data::RandomAffineConfig;
  static constexpr std::string_view name = "random_affine";
  static constexpr std::string_view summary = "Turns, moves, scales and shears by random amounts.";
  static constexpr auto fields =
      std::tuple{field(&Config::degrees, "degrees", "Lowest and highest angle, clockwise.",
                       InRange{-360, 360}),
                 field(&Config::translate, "translate",
                       "Farthest way, as shares of width and height.", InRange{0, 1}),
                 field(&Config::scale, "scale", "Lowest and highest factor.", MoreThan{0},
                       AtMost{1000, "nothing is left of an image"}),
                 field(&Config::shear_x, "shear_x", "Lowest and highest angle along the rows.",
                       InRange{-89, 89}),
                 field(&Config::shear_y, "shear_y", "Lowest and highest angle along the columns.",
                       InRange{-89, 89}),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct Schema<data::RandAugmentConfig> {
  using Config = data::RandAugmentConfig;
  static constexpr std::string_view name = "rand_augment";
  static constexpr std::string_view summary =
      "Random operations of one magnitude, as torchvision has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"RandAugment: practical automated data augmentation with a reduced search "
      "space\", CVPR workshops 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::num_ops, "num_ops", "How many operations.", AtLeast{0},
            AtMost{100, "nothing is left of an image"}),
      field(&Config::magnitude, "magnitude", "Which of the magnitudes, from 0.", AtLeast{0},
            AtMost{1000, "there are no more magnitudes"}),
      field(&Config::num_magnitude_bins, "num_magnitude_bins", "How many magnitudes there are.",
            AtLeast{2}, AtMost{1001, "an image has 256 levels"}),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct Schema<data::TrivialAugmentWideConfig> {
  using Config = data::TrivialAugmentWideConfig;
  static constexpr std::string_view name = "trivial_augment_wide";
  static constexpr std::string_view summary =
      "One random operation of any magnitude, as torchvision has it.";
  static constexpr std::string_view paper =
      "Müller and Hutter, \"TrivialAugment: tuning-free yet state-of-the-art data augmentation\", "
      "ICCV 2021.";
  static constexpr auto fields = std::tuple{
      field(&Config::num_magnitude_bins, "num_magnitude_bins", "How many magnitudes there are.",
            AtLeast{2}, AtMost{1001, "an image has 256 levels"}),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
};

template <>
struct Schema<data::AutoAugmentConfig> {
  using Config = data::AutoAugmentConfig;
  static constexpr std::string_view name = "auto_augment";
  static constexpr std::string_view summary =
      "One of 25 learned pairs of operations, as torchvision has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"AutoAugment: learning augmentation strategies from data\", CVPR 2019.";
  static constexpr auto fields =
      std::tuple{field(&Config::policy, "policy", "Data set that the pairs were learned on."),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
};

template <>
struct Schema<data::ResizeConfig> {
  using Config = data::ResizeConfig;
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view summary = "Resizes the shorter side; the ratio stays.";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Shorter side of the result in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&Config::interpolation, "interpolation", "Antialiased filter of the resize.")};
};

template <>
struct Schema<data::CenterCropConfig> {
  using Config = data::CenterCropConfig;
  static constexpr std::string_view name = "center_crop";
  static constexpr std::string_view summary =
      "The square piece in the middle; black where the image is smaller.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the piece in pixels.", AtLeast{1},
                       AtMost{16384, "no image has a longer side"})};
};

template <>
struct Schema<data::NormalizeConfig> {
  using Config = data::NormalizeConfig;
  static constexpr std::string_view name = "normalize";
  static constexpr std::string_view summary =
      "(x / 255 - mean) / std for each channel; only random_erasing may follow.";
  static constexpr auto fields =
      std::tuple{field(&Config::mean, "mean", "Of red, green and blue.", InRange{-1000, 1000}),
                 field(&Config::std, "std", "Of red, green and blue.", MoreThan{0},
                       AtMost{1000, "pixels end at 1"})};
};

template <>
struct Schema<data::RandomErasingConfig> {
  using Config = data::RandomErasingConfig;
  static constexpr std::string_view name = "random_erasing";
  static constexpr std::string_view summary =
      "Fills a random box of the normalised image; the last transform.";
  static constexpr std::string_view paper =
      "Zhong et al., \"Random erasing data augmentation\", AAAI 2020.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of a box.", InRange{0, 1}),
                 field(&Config::scale, "scale", "Lowest and highest share of the image's area.",
                       InRange{0, 1}),
                 field(&Config::ratio, "ratio", "Lowest and highest height / width of the box.",
                       MoreThan{0}, AtMost{1000, "nothing is left of an image"}),
                 field(&Config::value, "value", "What it is filled with, after normalize.",
                       InRange{-1000, 1000})};
  static void validate(const Config& values, Problems& problems);
};

}  // namespace paceline::config
