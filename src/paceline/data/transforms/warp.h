#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"
#include "paceline/data/transforms/plan.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Pillow's Image.transform in float64 to an image of size `size`; what comes from outside is
/// `fill`. Rows of `target` lie `stride` bytes apart; up to PixelBuffer::kPadding bytes beyond the
/// last pixel of both are read and written.
void warp(const PixelView& source, const PerspectiveMatrix& matrix,
          AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
          std::uint8_t* target, std::ptrdiff_t stride);

/// The same in plain C++: what the vector code is tested against.
void warp_scalar(const PixelView& source, const PerspectiveMatrix& matrix,
                 AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
                 std::uint8_t* target, std::ptrdiff_t stride);

}  // namespace paceline::data
