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
  prepare({source.size, size, whole(size), interpolation});
  return resize_prepared(source, target);
}

Box Resizer::prepare(const ResizedPart& wanted) {
  wanted_ = wanted;
  const auto& [from, to, part, interpolation] = wanted;
  Box needed = part;
  if (from.width != to.width) {
    columns_.prepare(from.width, to.width, interpolation, {part.left, part.right()});
    const auto [begin, end] = columns_.inputs();
    columns_.count_inputs_from(begin);
    needed.left = begin;
    needed.width = end - begin;
  }
  if (from.height != to.height) {
    rows_.prepare(from.height, to.height, interpolation, {part.top, part.bottom()});
    const auto [begin, end] = rows_.inputs();
    rows_.count_inputs_from(begin);
    needed.top = begin;
    needed.height = end - begin;
  }
  return needed;
}

PixelView Resizer::resize_prepared(const PixelView& source, PixelBuffer& target) {
  const auto& [from, to, part, interpolation] = wanted_;
  if (from == to) return source;
  if (to.height == from.height) return to_width(source, target);
  if (to.width == from.width) return to_height(source, target);
  if (goes_by_columns_first(from, to)) return to_width(to_height(source, between_), target);
  return to_height(to_width(source, between_), target);
}

PixelView Resizer::to_width(const PixelView& source, PixelBuffer& target) {
  const ImageSize size = {source.size.height, wanted_.part.width};
  std::uint8_t* pixels = target.reserve(buffer_size(size));
  resize_rows(source, columns_, pixels, padded_stride(size.width));
  return {pixels, size, padded_stride(size.width)};
}

PixelView Resizer::to_height(const PixelView& source, PixelBuffer& target) {
  const ImageSize size = {wanted_.part.height, source.size.width};
  std::uint8_t* pixels = target.reserve(buffer_size(size));
  resize_columns(source, rows_, pixels, padded_stride(size.width));
  return {pixels, size, padded_stride(size.width)};
}

bool goes_by_columns_first(ImageSize from, ImageSize to) {
  return to.height < from.height && from.height - to.height > 2 * (from.width - to.width);
}

void resize_rows_scalar(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
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

void resize_columns_scalar(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
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
