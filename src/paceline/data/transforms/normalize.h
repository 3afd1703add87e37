#pragma once

#include "paceline/base/philox.h"
#include "paceline/config/schema.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace paceline::data {

struct RowSink;   // normalize_row.h
class Transform;  // data/transforms/transform.h

/// x / 255, minus mean, divided by std, each step rounded to float32. The defaults are ImageNet's.
struct NormalizeConfig {
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> std = {0.229, 0.224, 0.225};
};

std::unique_ptr<Transform> make(const NormalizeConfig& config);

/// How the floats of one image lie in memory: row by row of RGB triples, or three planes.
enum class PixelLayout { kChannelsLast, kPlanar };

/// Where one image goes: 3 * height * width floats that the caller owns.
struct PixelSink {
  float* pixels = nullptr;
  PixelLayout layout = PixelLayout::kChannelsLast;
};

/// Where the bytes of one image go: height * width RGB triples that the caller owns.
struct ByteSink {
  std::uint8_t* pixels = nullptr;
};

/// What a box is filled with, row by row of RGB triples: one value per channel, or standard normal
/// numbers.
class ErasingValues {
 public:
  explicit ErasingValues(const EraseStep& step)
      : value_(step.value),
        is_noise_(step.noise_seed.has_value()),
        draws_(step.noise_seed.value_or(0), base::DrawPurpose::kAugmentation, 0, 0) {}
  float next(std::size_t channel) { return is_noise_ ? next_normal() : value_[channel]; }

 private:
  float next_normal();

  std::array<float, 3> value_;
  bool is_noise_;
  base::Philox draws_;
  std::optional<float> second_;  ///< of a pair, which Box and Muller's method makes
};

/// Overwrites the box of an image of size `image`.
void fill_box(PixelSink sink, ImageSize image, const EraseStep& step);

/// How vector code normalises: products corrected by fused multiply-adds instead of divisions. The
/// channels' numbers are repeated, for the 16 pixels of the widest vector.
struct NormalizeLanes {
  using Lanes = std::array<float, 48>;
  Lanes mean;
  Lanes deviation;
  Lanes inverse_deviation;

  static constexpr float kInverse255 = 1.0f / 255.0f;
  /// What kInverse255 lacks.
  static constexpr float kInverse255Rest =
      static_cast<float>(1.0 / 255.0 - static_cast<double>(kInverse255));
};

/// The float32 value of each byte in each channel, equal to torchvision's ToTensor and Normalize
/// bit for bit, as (x * scale + bias) would not be.
class NormalizeTable {
 public:
  /// x / 255.
  NormalizeTable() : NormalizeTable(NormalizeConfig{{0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}}) {}
  explicit NormalizeTable(const NormalizeConfig& config);

  float value(int channel, std::uint8_t byte) const {
    return values_[static_cast<std::size_t>(channel)][byte];
  }

  /// Writes `box` of `image`, mirrored if `flipped`; pixels of the box outside the image count as
  /// black.
  void write(const PixelView& image, const Box& box, bool flipped, PixelSink sink) const;

 private:
  void write_pixels(const std::uint8_t* pixels, int count, const RowSink& sink) const;

  std::array<std::array<float, 256>, 3> values_;
  NormalizeLanes lanes_;
  bool lanes_are_exact_ = true;  ///< give values_ bit for bit
};

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::NormalizeConfig> {
  using Config = data::NormalizeConfig;
  static constexpr std::string_view name = "normalize";
  static constexpr std::string_view summary =
      "(x / 255 - mean) / std for each channel; only random_erasing may follow.";
  static constexpr auto fields =
      std::tuple{field(&Config::mean, "mean", "Of red, green and blue.", InRange{-1000, 1000}),
                 field(&Config::std, "std", "Of red, green and blue.", MoreThan{0},
                       AtMost{1000, "pixels end at 1"})};
};
