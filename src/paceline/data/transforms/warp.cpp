#include "paceline/data/transforms/warp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace paceline::data {
namespace {

/// A byte of a pixel, or of the nearest one of the image.
double byte_at(const PixelView& image, int y, int x, int channel) {
  const int row = std::clamp(y, 0, image.size.height - 1);
  const int column = std::clamp(x, 0, image.size.width - 1);
  return image.row(row)[3 * column + channel];
}

/// Pillow's mixture of the four pixels around (x, y), cut off.
std::uint8_t mix_linearly(const PixelView& source, double x, double y, int channel) {
  const int left = static_cast<int>(std::floor(x - 0.5));
  const int top = static_cast<int>(std::floor(y - 0.5));
  const auto mix = [](double a, double b, double share) { return a + (b - a) * share; };
  const auto row = [&](int number) {
    return mix(byte_at(source, number, left, channel), byte_at(source, number, left + 1, channel),
               x - 0.5 - left);
  };
  return static_cast<std::uint8_t>(mix(row(top), row(top + 1), y - 0.5 - top));
}

/// Pillow's cubic through four numbers, between the second and the third.
double cubic(const std::array<double, 4>& v, double share) {
  const double second = -v[0] + v[2];
  const double third = 2 * (v[0] - v[1]) + v[2] - v[3];
  const double fourth = -v[0] + v[1] - v[2] + v[3];
  return v[1] + share * (second + share * (third + share * fourth));
}

/// Pillow's mixture of the 16 pixels around (x, y), cut off.
std::uint8_t mix_cubically(const PixelView& source, double x, double y, int channel) {
  const int left = static_cast<int>(std::floor(x - 0.5));
  const int top = static_cast<int>(std::floor(y - 0.5));
  std::array<double, 4> rows;
  for (int row = 0; row < 4; ++row) {
    std::array<double, 4> bytes;
    for (int column = 0; column < 4; ++column)
      bytes[static_cast<std::size_t>(column)] =
          byte_at(source, top + row - 1, left + column - 1, channel);
    rows[static_cast<std::size_t>(row)] = cubic(bytes, x - 0.5 - left);
  }
  return static_cast<std::uint8_t>(std::clamp(cubic(rows, y - 0.5 - top), 0.0, 255.0));
}

std::uint8_t sampled(const PixelView& source, AffineInterpolation interpolation, double x, double y,
                     int channel) {
  if (interpolation == AffineInterpolation::kBilinear) return mix_linearly(source, x, y, channel);
  if (interpolation == AffineInterpolation::kBicubic) return mix_cubically(source, x, y, channel);
  return source.row(static_cast<int>(y))[3 * static_cast<int>(x) + channel];
}

}  // namespace

void warp_scalar(const PixelView& source, const PerspectiveMatrix& m,
                 AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
                 std::uint8_t* target, std::ptrdiff_t stride) {
  for (int row = 0; row < size.height; ++row) {
    std::uint8_t* pixel = target + row * stride;
    for (int column = 0; column < size.width; ++column, pixel += 3) {
      const double x = column + 0.5;
      const double y = row + 0.5;
      const double depth = m[6] * x + m[7] * y + 1;
      const double source_x = (m[0] * x + m[1] * y + m[2]) / depth;
      const double source_y = (m[3] * x + m[4] * y + m[5]) / depth;
      const bool is_inside = source_x >= 0.0 && source_x < source.size.width && source_y >= 0.0 &&
                             source_y < source.size.height;
      for (int channel = 0; channel < 3; ++channel) {
        pixel[channel] = is_inside ? sampled(source, interpolation, source_x, source_y, channel)
                                   : fill[static_cast<std::size_t>(channel)];
      }
    }
  }
}

}  // namespace paceline::data
