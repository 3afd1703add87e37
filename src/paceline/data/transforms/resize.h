#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/resample_axis.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// A part of a resized image.
struct ResizedPart {
  ImageSize from;
  ImageSize to;
  Box part;  ///< of the resized image; not empty
  Interpolation interpolation = Interpolation::kBilinear;
};

/// Pillow's resize: antialiased, a pass along the rows and one along the columns, bytes in between,
/// a direction whose size does not change left out. Keeps its tables and buffer from image to
/// image.
class Resizer {
 public:
  /// The view points into `target`, or is `source` itself if nothing changes. PixelBuffer::kPadding
  /// bytes beyond the last pixel of `source` must be readable.
  PixelView resize(const PixelView& source, ImageSize size, Interpolation interpolation,
                   PixelBuffer& target);

  /// Begins with a part alone, and returns the box of the original image that it follows from.
  Box prepare(const ResizedPart& wanted);
  /// Then makes that part, of the pixels of that box; as resize() otherwise.
  PixelView resize_prepared(const PixelView& source, PixelBuffer& target);

  /// Lets go of the memory that a giant took.
  void give_back() { between_.give_back(); }

 private:
  PixelView to_width(const PixelView& source, PixelBuffer& target);
  PixelView to_height(const PixelView& source, PixelBuffer& target);

  ResizedPart wanted_;
  ResampleAxis columns_;  ///< for the pass along the rows; unless the width stays
  ResampleAxis rows_;
  PixelBuffer between_;
};

/// Which pass comes first, which shows in the last bit: Pillow's rule since 13.0 (its pull request
/// 9549). Older ones always begin with the rows.
bool goes_by_columns_first(ImageSize from, ImageSize to);

/// One pass along the rows: every row of `source` to axis.outputs pixels at `target`. Rows of
/// `target` have room for padded_stride(axis.outputs) bytes.
void resize_rows(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                 std::ptrdiff_t stride);
/// One pass along the columns, to axis.outputs rows.
void resize_columns(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                    std::ptrdiff_t stride);

/// The same passes in plain C++: what the vector code is tested against.
void resize_rows_scalar(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                        std::ptrdiff_t stride);
void resize_columns_scalar(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                           std::ptrdiff_t stride);

}  // namespace paceline::data
