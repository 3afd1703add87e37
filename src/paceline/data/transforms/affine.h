#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"
#include "paceline/data/transforms/plan.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Pillow's walk over the sources of a row's pixels, in 16.16 fixed point.
struct FixedWalk {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t step_x = 0;
  std::int64_t step_y = 0;
};

/// Copies the `count` pixels of a walk that does not leave `source`, and a byte beyond them.
void copy_walk(const PixelView& source, const FixedWalk& walk, int count, std::uint8_t* target);

/// Pillow's Image.transform to an image of size `size`; what comes from outside is `fill`. Rows of
/// `target` lie `stride` bytes apart; up to PixelBuffer::kPadding bytes beyond the last pixel of
/// both are read and written.
void transform_affine(const PixelView& source, const AffineMatrix& matrix,
                      AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
                      std::uint8_t* target, std::ptrdiff_t stride);

}  // namespace paceline::data
