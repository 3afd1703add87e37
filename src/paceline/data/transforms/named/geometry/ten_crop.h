#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

inline constexpr int kNumFiveCrops = 5;
inline constexpr int kNumTenCrops = 10;

/// Appends the steps that cut view `view` from an image: its top left, top right, bottom left and
/// bottom right piece and that in the middle, and from 5 on the same of the image mirrored left to
/// right, or top to bottom. torchvision's order and bytes. Throws DataError if the image is smaller
/// than the piece.
void append_crop_view(int view, ImageSize image, ImageSize crop, bool vertical_flip, Plan& plan);

/// The first five of these pieces. An evaluation that averages views sees all of them, training one
/// at random: draws one number below 5.
struct FiveCropConfig {
  config::Sides size = 224;
};
/// All ten. Draws one number below 10.
struct TenCropConfig {
  config::Sides size = 224;
  bool vertical_flip = false;
};

std::unique_ptr<Transform> make(const FiveCropConfig& config);
std::unique_ptr<Transform> make(const TenCropConfig& config);

/// The field of both.
template <class Config>
constexpr auto crop_size_field() {
  return config::field(&Config::size, "size", "Side of a piece in pixels, or [height, width].",
                       config::AtLeast{1}, config::AtMost{16384, "no image has a longer side"});
}

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::FiveCropConfig> {
  using Config = data::FiveCropConfig;
  static constexpr std::string_view name = "five_crop";
  static constexpr std::string_view summary =
      "The pieces in the corners and in the middle as views of one image; in training one of them.";
  static constexpr auto fields = std::tuple{data::crop_size_field<Config>()};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct paceline::config::Schema<paceline::data::TenCropConfig> {
  using Config = data::TenCropConfig;
  static constexpr std::string_view name = "ten_crop";
  static constexpr std::string_view summary =
      "The views of five_crop, and those of the mirrored image; in training one of them.";
  static constexpr std::string_view paper =
      "Krizhevsky et al., \"ImageNet classification with deep convolutional neural networks\", "
      "NeurIPS 2012.";
  static constexpr auto fields = std::tuple{
      data::crop_size_field<Config>(), field(&Config::vertical_flip, "vertical_flip",
                                             "Mirror top to bottom instead of left to right.")};
  static void validate(const Config& values, Problems& problems);
};
