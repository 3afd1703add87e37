#include "paceline/data/transforms/kernels/box_blur.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace paceline::data {
namespace {

constexpr int kPasses = 3;

}  // namespace

BoxWeights box_weights(float radius) {
  // Single and double precision as Pillow has them, which the last bit depends on. Source: Gwosdek
  // et al., "Theoretical foundations of Gaussian convolution by extended box filtering", SSVM 2011.
  const float variance = radius * radius / kPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  const float box = whole + part;
  BoxWeights weights;
  weights.radius = static_cast<int>(box);
  weights.whole = static_cast<std::uint32_t>(static_cast<float>(1 << 24) / (box * 2 + 1));
  const auto num_whole = static_cast<std::uint32_t>(2 * weights.radius + 1);
  weights.fraction = ((1u << 24) - num_whole * weights.whole) / 2;
  return weights;
}

void BoxBlur::blur(const PixelView& source, float radius, std::uint8_t* target,
                   std::ptrdiff_t stride) {
  weights_ = box_weights(radius);
  const auto [height, width] = source.size;
  const std::ptrdiff_t between_stride = padded_stride(width);
  std::uint8_t* const between =
      between_.reserve(static_cast<std::size_t>(between_stride) * static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y) blur_row(source.row(y), width, between + y * between_stride);
  const PixelView first = {between, source.size, between_stride};
  const PixelView second = {target, source.size, stride};
  blur_columns(first, target, stride);
  blur_columns(second, between, between_stride);
  blur_columns(first, target, stride);
}

void BoxBlur::give_back() {
  row_.give_back();
  between_.give_back();
}

void BoxBlur::blur_row(const std::uint8_t* row, int width, std::uint8_t* target) {
  const int margin = weights_.radius + 1;
  const auto count = std::size_t{3} * static_cast<std::size_t>(width);
  std::uint8_t* const begin =
      row_.reserve(static_cast<std::size_t>(padded_stride(width + 2 * margin)));
  std::uint8_t* const middle = begin + std::ptrdiff_t{3} * margin;
  places_.clear();
  for (int i = 0; i <= 2 * margin; ++i) places_.push_back(begin + std::ptrdiff_t{3} * i);
  for (int pass = 0; pass < kPasses; ++pass) {
    std::memcpy(middle, pass == 0 ? row : target, count);
    for (std::ptrdiff_t i = 0; i < margin; ++i) {
      std::memcpy(begin + 3 * i, middle, 3);
      std::memcpy(middle + count + 3 * i, middle + count - 3, 3);
    }
    box_means(places_, weights_, count, target);
  }
}

void BoxBlur::blur_columns(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
  const int margin = weights_.radius + 1;
  for (int y = 0; y < source.size.height; ++y) {
    places_.clear();
    for (int row = y - margin; row <= y + margin; ++row)
      places_.push_back(source.row(std::clamp(row, 0, source.size.height - 1)));
    box_means(places_, weights_, std::size_t{3} * static_cast<std::size_t>(source.size.width),
              target + y * stride);
  }
}

void box_means_scalar(std::span<const std::uint8_t* const> places, const BoxWeights& weights,
                      std::size_t count, std::uint8_t* target) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t whole = 0;
    for (const std::uint8_t* place : places.subspan(1, places.size() - 2)) whole += place[i];
    const std::uint32_t ends = std::uint32_t{places.front()[i]} + places.back()[i];
    target[i] = static_cast<std::uint8_t>(
        (whole * weights.whole + ends * weights.fraction + (1u << 23)) >> 24);
  }
}

}  // namespace paceline::data
