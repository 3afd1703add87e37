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
  const bool changes_width = size.width != source.size.width;
  const bool changes_height = size.height != source.size.height;
  const std::ptrdiff_t stride = padded_stride(size.width);
  PixelView view = source;
  if (changes_width) {
    const ImageSize narrowed = {view.size.height, size.width};
    std::uint8_t* pixels = (changes_height ? between_ : target).reserve(buffer_size(narrowed));
    axis_.prepare(view.size.width, size.width, interpolation);
    resize_rows(view, axis_, pixels, stride);
    view = {pixels, narrowed, stride};
  }
  if (changes_height) {
    std::uint8_t* pixels = target.reserve(buffer_size(size));
    axis_.prepare(view.size.height, size.height, interpolation);
    resize_columns(view, axis_, pixels, stride);
    view = {pixels, size, stride};
  }
  return view;
}

void resize_rows_plainly(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    for (int x = 0; x < axis.outputs; ++x) {
      const std::size_t output = static_cast<std::size_t>(x);
      const std::int32_t* weights = &axis.weights[output * static_cast<std::size_t>(axis.taps)];
      const std::uint8_t* pixels = source.row(y) + std::ptrdiff_t{3} * axis.first[output];
      for (int channel = 0; channel < 3; ++channel) {
        std::int32_t sum = kHalf;
        for (int tap = 0; tap < axis.count[output]; ++tap) {
          sum += pixels[3 * tap + channel] * weights[tap];
        }
        target[y * stride + 3 * x + channel] = to_byte(sum);
      }
    }
  }
}

void resize_columns_plainly(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                            std::ptrdiff_t stride) {
  for (int y = 0; y < axis.outputs; ++y) {
    const std::size_t output = static_cast<std::size_t>(y);
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
