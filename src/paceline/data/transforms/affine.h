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

/// Pillow's walk over the sources of a row's pixels, in 16.16 fixed point.
struct FixedWalk {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t step_x = 0;
  std::int64_t step_y = 0;
};

/// Copies the `count` pixels of a walk that does not leave `source`, and a byte beyond them.
void copy_walk(const PixelView& source, const FixedWalk& walk, int count, std::uint8_t* target);

/// Pillow's Image.transform to an image of the same size; what comes from outside is `fill`. Rows
/// of `target` lie `stride` bytes apart; up to PixelBuffer::kPadding bytes beyond the last pixel of
/// both are read and written.
void transform_affine(const PixelView& source, const AffineMatrix& matrix,
                      AffineInterpolation interpolation, const FillColor& fill,
                      std::uint8_t* target, std::ptrdiff_t stride);

/// transform_affine with AffineInterpolation::kBilinear, and the same in plain C++: what the vector
/// code is tested against.
void transform_bilinear(const PixelView& source, const AffineMatrix& matrix, const FillColor& fill,
                        std::uint8_t* target, std::ptrdiff_t stride);
void transform_bilinear_plainly(const PixelView& source, const AffineMatrix& matrix,
                                const FillColor& fill, std::uint8_t* target, std::ptrdiff_t stride);

}  // namespace paceline::data
