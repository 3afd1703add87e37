#pragma once

#include "paceline/data/image/pixels.h"

#include <array>

namespace paceline::data {

/// Where each pixel of the result comes from, as Pillow's Image.transform takes it: column
/// m[0] x + m[1] y + m[2] and row m[3] x + m[4] y + m[5] of the source, all at pixels' centres.
using AffineMatrix = std::array<double, 6>;

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
/// Pillow's Image.rotate around the middle, counter-clockwise by `angle` degrees.
AffineMatrix rotation_matrix(double angle, ImageSize size);

}  // namespace paceline::data
