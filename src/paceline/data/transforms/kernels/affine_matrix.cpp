#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <charconv>
#include <cmath>
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

}  // namespace paceline::data
