#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <algorithm>
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

/// Python's angle % 360.
double turn_of(double angle) {
  const double turn = std::fmod(angle, 360.0);
  return turn < 0 ? turn + 360.0 : turn;
}

/// How many pixels lie between the least and the greatest of some coordinates.
int extent(const std::array<double, 4>& coordinates) {
  const auto [least, greatest] = std::ranges::minmax(coordinates);
  return static_cast<int>(std::ceil(greatest) - std::floor(least));
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
  return rotation_about(angle, {size.width / 2.0, size.height / 2.0});
}

AffineMatrix rotation_about(double angle, const std::array<double, 2>& center) {
  const double radians = -(turn_of(angle) * kRadians);
  const double cosine = round_to_15_digits(std::cos(radians));
  const double sine = round_to_15_digits(std::sin(radians));
  const auto [x, y] = center;
  AffineMatrix m = {cosine, sine, 0.0, -sine, cosine, 0.0};
  m[2] = m[0] * -x + m[1] * -y + m[2] + x;
  m[5] = m[3] * -x + m[4] * -y + m[5] + y;
  return m;
}

ExpandedRotation expanded_rotation(double angle, ImageSize size) {
  AffineMatrix m = rotation_matrix(angle, size);
  const double turn = turn_of(angle);
  const double width = size.width;
  const double height = size.height;
  const auto column = [&](double x, double y) { return m[0] * x + m[1] * y + m[2]; };
  const auto row = [&](double x, double y) { return m[3] * x + m[4] * y + m[5]; };
  ImageSize expanded = {
      extent({row(0, 0), row(width, 0), row(width, height), row(0, height)}),
      extent({column(0, 0), column(width, 0), column(width, height), column(0, height)})};
  if (turn == 0 || turn == 180) expanded = size;
  if (turn == 90 || turn == 270) expanded = {size.width, size.height};
  const double left = -(expanded.width - size.width) / 2.0;
  const double top = -(expanded.height - size.height) / 2.0;
  const double first_column = column(left, top);
  m[5] = row(left, top);
  m[2] = first_column;
  return {m, expanded};
}

}  // namespace paceline::data
