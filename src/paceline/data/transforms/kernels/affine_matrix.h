#pragma once

#include "paceline/data/image/pixels.h"

#include <array>

namespace paceline::data {

/// Where each pixel of the result comes from, as Pillow's Image.transform takes it: column
/// m[0] x + m[1] y + m[2] and row m[3] x + m[4] y + m[5] of the source, all at pixels' centres.
using AffineMatrix = std::array<double, 6>;

/// The same with both divided by m[6] x + m[7] y + 1.
using PerspectiveMatrix = std::array<double, 8>;

inline PerspectiveMatrix to_perspective(const AffineMatrix& m) {
  return {m[0], m[1], m[2], m[3], m[4], m[5], 0, 0};
}

/// A movement of an image in torchvision's terms. Angles are in degrees.
struct Movement {
  double angle = 0.0;                        ///< clockwise
  std::array<double, 2> translate = {0, 0};  ///< to the right, down; in pixels
  double scale = 1.0;
  std::array<double, 2> shear = {0, 0};   ///< along the rows, along the columns
  std::array<double, 2> center = {0, 0};  ///< x, y of what stays in its place
};

/// torchvision's F.affine.
AffineMatrix affine_matrix(const Movement& movement);
/// Pillow's Image.rotate, counter-clockwise by `angle` degrees around the middle, or around (x, y).
AffineMatrix rotation_matrix(double angle, ImageSize size);
AffineMatrix rotation_about(double angle, const std::array<double, 2>& center);

/// A rotation of an image of size `size` to one that holds all of it.
struct ExpandedRotation {
  AffineMatrix matrix;
  ImageSize size;
};
ExpandedRotation expanded_rotation(double angle, ImageSize size);

}  // namespace paceline::data
