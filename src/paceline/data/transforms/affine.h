#pragma once

#include "paceline/data/codec/pixels.h"
#include "paceline/data/transforms/configs.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Where each pixel of the result comes from, as Pillow's Image.transform takes it: column
/// m[0] x + m[1] y + m[2] and row m[3] x + m[4] y + m[5] of the source, all at pixels' centres.
using AffineMatrix = std::array<double, 6>;

/// Red, green, blue.
using FillColor = std::array<std::uint8_t, 3>;

inline FillColor fill_color(const std::array<int, 3>& fill) {
  return {static_cast<std::uint8_t>(fill[0]), static_cast<std::uint8_t>(fill[1]),
          static_cast<std::uint8_t>(fill[2])};
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
/// Pillow's Image.rotate around the middle, counter-clockwise by `angle` degrees.
AffineMatrix rotation_matrix(double angle, ImageSize size);

/// Pillow's Image.transform to an image of the same size; what comes from outside is `fill`. 4
/// bytes from the last pixel of `source` on must be readable. Rows of `target` lie `stride` bytes
/// apart and have room for padded_stride(width) (resize.h).
void transform_affine(const PixelView& source, const AffineMatrix& matrix,
                      AffineInterpolation interpolation, const FillColor& fill,
                      std::uint8_t* target, std::ptrdiff_t stride);

}  // namespace paceline::data
