#include "paceline/data/transforms/affine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>

namespace paceline::data {
namespace {

constexpr double kRadians = std::numbers::pi / 180.0;

/// Python's round(value, 15): to the nearest decimal number, not by arithmetic.
double round_to_15_digits(double value) {
  char text[32];
  const char* end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 15).ptr;
  double rounded = 0;
  std::from_chars(text, end, rounded);
  return rounded;
}

/// 16.16 fixed point.
std::int64_t to_fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5));
}

/// Pillow's walk over the sources of a row's pixels in fixed point ...
struct FixedWalk {
  std::int64_t x, y, step_x, step_y;

  int column() const { return static_cast<int>(x >> 16); }
  int row() const { return static_cast<int>(y >> 16); }
  void step() {
    x += step_x;
    y += step_y;
  }
};

/// ... and in floating point, for pure scaling and for huge images.
struct FloatWalk {
  double x, y, step_x, step_y;

  static int whole(double value) { return value < 0.0 ? -1 : static_cast<int>(value); }
  int column() const { return whole(x); }
  int row() const { return whole(y); }
  void step() {
    x += step_x;
    y += step_y;
  }
};

bool fits_fixed_point(const AffineMatrix& m, ImageSize size) {
  const auto fits = [&](int x, int y) {
    return std::abs(x * m[0] + y * m[1] + m[2]) < 32768.0 &&
           std::abs(x * m[3] + y * m[4] + m[5]) < 32768.0;
  };
  return fits(0, 0) && fits(size.width, size.height) && fits(0, size.height) && fits(size.width, 0);
}

template <class Walk>
void fill_row(const PixelView& source, Walk walk, const FillColor& fill, std::uint8_t* target) {
  for (int x = 0; x < source.size.width; ++x, target += 3, walk.step()) {
    const int column = walk.column();
    const int row = walk.row();
    const bool is_inside =
        column >= 0 && column < source.size.width && row >= 0 && row < source.size.height;
    std::memcpy(target, is_inside ? source.row(row) + std::ptrdiff_t{3} * column : fill.data(), 3);
  }
}

void transform_nearest(const PixelView& source, const AffineMatrix& m, const FillColor& fill,
                       std::uint8_t* target, std::ptrdiff_t stride) {
  const double first_x = m[2] + m[0] * 0.5 + m[1] * 0.5;
  const double first_y = m[5] + m[3] * 0.5 + m[4] * 0.5;
  if ((m[1] != 0 || m[3] != 0) && fits_fixed_point(m, source.size)) {
    FixedWalk walk = {to_fixed(first_x), to_fixed(first_y), to_fixed(m[0]), to_fixed(m[3])};
    for (int y = 0; y < source.size.height; ++y) {
      fill_row(source, walk, fill, target + y * stride);
      walk.x += to_fixed(m[1]);
      walk.y += to_fixed(m[4]);
    }
    return;
  }
  FloatWalk walk = {m[2] + m[1] * 0.5 + m[0] * 0.5, m[5] + m[4] * 0.5 + m[3] * 0.5, m[0], m[3]};
  for (int y = 0; y < source.size.height; ++y) {
    fill_row(source, walk, fill, target + y * stride);
    walk.x += m[1];
    walk.y += m[4];
  }
}

/// Pillow's mixture of the four pixels around (x, y), in double, cut off.
void mix_pixels(const PixelView& source, double x, double y, std::uint8_t* target) {
  const double left = std::floor(x - 0.5);
  const double top = std::floor(y - 0.5);
  const double right_share = x - 0.5 - left;
  const double lower_share = y - 0.5 - top;
  const auto offset = [&](int column) {
    return std::ptrdiff_t{3} * std::clamp(column, 0, source.size.width - 1);
  };
  const std::ptrdiff_t first = offset(static_cast<int>(left));
  const std::ptrdiff_t second = offset(static_cast<int>(left) + 1);
  const int row = static_cast<int>(top);
  const std::uint8_t* upper = source.row(std::max(row, 0));
  const std::uint8_t* lower = source.row(std::min(row + 1, source.size.height - 1));
  const auto mix = [](double a, double b, double share) { return a + (b - a) * share; };
  for (int channel = 0; channel < 3; ++channel) {
    const double above = mix(upper[first + channel], upper[second + channel], right_share);
    const double below = mix(lower[first + channel], lower[second + channel], right_share);
    target[channel] = static_cast<std::uint8_t>(mix(above, below, lower_share));
  }
}

void transform_bilinear(const PixelView& source, const AffineMatrix& m, const FillColor& fill,
                        std::uint8_t* target, std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    std::uint8_t* pixel = target + y * stride;
    for (int x = 0; x < source.size.width; ++x, pixel += 3) {
      const double source_x = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
      const double source_y = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
      const bool is_inside = source_x >= 0.0 && source_x < source.size.width && source_y >= 0.0 &&
                             source_y < source.size.height;
      if (is_inside) {
        mix_pixels(source, source_x, source_y, pixel);
      } else {
        std::memcpy(pixel, fill.data(), 3);
      }
    }
  }
}

}  // namespace

AffineMatrix affine_matrix(const Movement& movement) {
  const double rotation = movement.angle * kRadians;
  const double shear_x = movement.shear[0] * kRadians;
  const double shear_y = movement.shear[1] * kRadians;
  const double turned_cos = std::cos(rotation - shear_y) / std::cos(shear_y);
  const double turned_sin = std::sin(rotation - shear_y) / std::cos(shear_y);
  // torchvision's order of operations, which the last bit depends on.
  const double b =
      -std::cos(rotation - shear_y) * std::tan(shear_x) / std::cos(shear_y) - std::sin(rotation);
  const double d =
      -std::sin(rotation - shear_y) * std::tan(shear_x) / std::cos(shear_y) + std::cos(rotation);
  AffineMatrix m = {d, -b, 0.0, -turned_sin, turned_cos, 0.0};
  for (double& value : m) value /= movement.scale;
  const auto [x, y] = movement.center;
  const auto [right, down] = movement.translate;
  m[2] += m[0] * (-x - right) + m[1] * (-y - down);
  m[5] += m[3] * (-x - right) + m[4] * (-y - down);
  m[2] += x;
  m[5] += y;
  return m;
}

AffineMatrix rotation_matrix(double angle, ImageSize size) {
  double turn = std::fmod(angle, 360.0);
  if (turn < 0) turn += 360.0;
  const double radians = -(turn * kRadians);
  const double cosine = round_to_15_digits(std::cos(radians));
  const double sine = round_to_15_digits(std::sin(radians));
  const double x = size.width / 2.0;
  const double y = size.height / 2.0;
  AffineMatrix m = {cosine, sine, 0.0, -sine, cosine, 0.0};
  m[2] = m[0] * -x + m[1] * -y + m[2] + x;
  m[5] = m[3] * -x + m[4] * -y + m[5] + y;
  return m;
}

void transform_affine(const PixelView& source, const AffineMatrix& matrix,
                      AffineInterpolation interpolation, const FillColor& fill,
                      std::uint8_t* target, std::ptrdiff_t stride) {
  if (interpolation == AffineInterpolation::kNearest) {
    transform_nearest(source, matrix, fill, target, stride);
  } else {
    transform_bilinear(source, matrix, fill, target, stride);
  }
}

}  // namespace paceline::data
