#include "paceline/data/transforms/resize.h"

#include <algorithm>

namespace paceline::data {
namespace {

constexpr std::int32_t kHalf = 1 << (ResampleAxis::kPrecisionBits - 1);

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> ResampleAxis::kPrecisionBits, 0, 255));
}

std::size_t buffer_size(ImageSize size) {
  return static_cast<std::size_t>(padded_stride(size.width)) *
         static_cast<std::size_t>(size.height);
}

}  // namespace

PixelView Resizer::resize(const PixelView& source, ImageSize size, Interpolation interpolation,
                          PixelBuffer& target) {
  if (size == source.size) return source;
  if (size.height == source.size.height) return to_width(source, size.width, interpolation, target);
  if (size.width == source.size.width) return to_height(source, size.height, interpolation, target);
  if (goes_by_columns_first(source.size, size)) {
    const PixelView lowered = to_height(source, size.height, interpolation, between_);
    return to_width(lowered, size.width, interpolation, target);
  }
  const PixelView narrowed = to_width(source, size.width, interpolation, between_);
  return to_height(narrowed, size.height, interpolation, target);
}

PixelView Resizer::to_width(const PixelView& source, int width, Interpolation interpolation,
                            PixelBuffer& target) {
  const ImageSize size = {source.size.height, width};
  std::uint8_t* pixels = target.reserve(buffer_size(size));
  axis_.prepare(source.size.width, width, interpolation);
  resize_rows(source, axis_, pixels, padded_stride(width));
  return {pixels, size, padded_stride(width)};
}

PixelView Resizer::to_height(const PixelView& source, int height, Interpolation interpolation,
                             PixelBuffer& target) {
  const ImageSize size = {height, source.size.width};
  std::uint8_t* pixels = target.reserve(buffer_size(size));
  axis_.prepare(source.size.height, height, interpolation);
  resize_columns(source, axis_, pixels, padded_stride(size.width));
  return {pixels, size, padded_stride(size.width)};
}

bool goes_by_columns_first(ImageSize from, ImageSize to) {
  return to.height < from.height && from.height - to.height > 2 * (from.width - to.width);
}

void resize_rows_plainly(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    for (int x = 0; x < axis.outputs; ++x) {
      const auto output = static_cast<std::size_t>(x);
      const std::int32_t* weights = &axis.weights[output * static_cast<std::size_t>(axis.taps)];
      const std::uint8_t* pixels = source.row(y) + std::ptrdiff_t{3} * axis.first[output];
      for (int channel = 0; channel < 3; ++channel) {
        std::int32_t sum = kHalf;
        for (int tap = 0; tap < axis.count[output]; ++tap) {
          sum += pixels[3 * tap + channel] * weights[tap];
        }
        target[y * stride + std::ptrdiff_t{3} * x + channel] = to_byte(sum);
      }
    }
  }
}

void resize_columns_plainly(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                            std::ptrdiff_t stride) {
  for (int y = 0; y < axis.outputs; ++y) {
    const auto output = static_cast<std::size_t>(y);
    const std::int32_t* weights = &axis.weights[output * static_cast<std::size_t>(axis.taps)];
    for (int byte = 0; byte < 3 * source.size.width; ++byte) {
      std::int32_t sum = kHalf;
      for (int tap = 0; tap < axis.count[output]; ++tap) {
        sum += source.row(axis.first[output] + tap)[byte] * weights[tap];
      }
      target[y * stride + byte] = to_byte(sum);
    }
  }
}

}  // namespace paceline::data
