#include "paceline/data/transforms/affine.h"

#include "paceline/data/transforms/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace paceline::data {
namespace {

std::int64_t to_fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5));
}

/// Numbers of a row's pixels.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// For which i below `count` first + i * step lies in [0, limit).
Range inside_range(std::int64_t first, std::int64_t step, std::int64_t limit, std::int64_t count) {
  if (step < 0) return inside_range(limit - 1 - first, -step, limit, count);
  if (first >= limit) return {};
  if (step == 0) return first >= 0 ? Range{0, count} : Range{};
  const std::int64_t begin = first >= 0 ? 0 : (step - 1 - first) / step;
  return {std::min(begin, count), std::min((limit - 1 - first) / step + 1, count)};
}

void fill_pixels(const FillColor& fill, std::int64_t count, std::uint8_t* target) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(target + 3 * i, fill.data(), 3);
}

void transform_row(const PixelView& source, FixedWalk walk, const FillColor& fill,
                   std::int64_t width, std::uint8_t* target) {
  const Range columns =
      inside_range(walk.x, walk.step_x, std::int64_t{source.size.width} << 16, width);
  const Range rows =
      inside_range(walk.y, walk.step_y, std::int64_t{source.size.height} << 16, width);
  const std::int64_t begin = std::max(columns.begin, rows.begin);
  const std::int64_t end = std::max(begin, std::min(columns.end, rows.end));
  fill_pixels(fill, begin, target);
  walk.x += begin * walk.step_x;
  walk.y += begin * walk.step_y;
  copy_walk(source, walk, static_cast<int>(end - begin), target + 3 * begin);
  fill_pixels(fill, width - end, target + 3 * end);
}

bool fits_fixed_point(const AffineMatrix& m, ImageSize size) {
  const auto fits = [&](int x, int y) {
    return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 &&
           std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
  };
  return fits(0, 0) && fits(size.width, size.height) && fits(0, size.height) && fits(size.width, 0);
}

/// Pillow takes its path in floating point for pure scaling and for huge images. Moves by whole
/// pixels are the same on either.
bool takes_fixed_point(const AffineMatrix& m, ImageSize size) {
  const bool moves_whole_pixels =
      m[0] == 1 && m[4] == 1 && m[2] == std::floor(m[2]) && m[5] == std::floor(m[5]);
  return (m[1] != 0 || m[3] != 0 || moves_whole_pixels) && fits_fixed_point(m, size);
}

void transform_in_fixed_point(const PixelView& source, const AffineMatrix& m, const FillColor& fill,
                              ImageSize size, std::uint8_t* target, std::ptrdiff_t stride) {
  FixedWalk walk = {to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5),
                    to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5), to_fixed(m[0]), to_fixed(m[3])};
  for (int y = 0; y < size.height; ++y) {
    transform_row(source, walk, fill, size.width, target + y * stride);
    walk.x += to_fixed(m[1]);
    walk.y += to_fixed(m[4]);
  }
}

void transform_in_floating_point(const PixelView& source, const AffineMatrix& m,
                                 const FillColor& fill, ImageSize size, std::uint8_t* target,
                                 std::ptrdiff_t stride) {
  const auto whole = [](double value) { return value < 0.0 ? -1 : static_cast<int>(value); };
  double first_x = m[2] + m[1] * 0.5 + m[0] * 0.5;
  double first_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
  for (int y = 0; y < size.height; ++y, first_x += m[1], first_y += m[4]) {
    double source_x = first_x;
    double source_y = first_y;
    for (std::ptrdiff_t x = 0; x < size.width; ++x, source_x += m[0], source_y += m[3]) {
      const int column = whole(source_x);
      const int row = whole(source_y);
      const bool is_inside =
          column >= 0 && column < source.size.width && row >= 0 && row < source.size.height;
      std::memcpy(target + y * stride + 3 * x,
                  is_inside ? source.row(row) + std::ptrdiff_t{3} * column : fill.data(), 3);
    }
  }
}

}  // namespace

void transform_affine(const PixelView& source, const AffineMatrix& matrix,
                      AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
                      std::uint8_t* target, std::ptrdiff_t stride) {
  if (interpolation != AffineInterpolation::kNearest) {
    warp(source, to_perspective(matrix), interpolation, fill, size, target, stride);
  } else if (takes_fixed_point(matrix, size)) {
    transform_in_fixed_point(source, matrix, fill, size, target, stride);
  } else {
    transform_in_floating_point(source, matrix, fill, size, target, stride);
  }
}

}  // namespace paceline::data
