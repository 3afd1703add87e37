#pragma once

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// What lies beyond the edges of an image, as numpy.pad and torchvision's padding_mode name it.
enum class EdgePadding {
  kConstant,   ///< black
  kEdge,       ///< the nearest pixel: a a [a b c] c c
  kReflect,    ///< the image mirrored at the middle of its last pixel: c b [a b c] b a
  kSymmetric,  ///< the image mirrored behind its last pixel: b a [a b c] c b
};

/// The place in a row of `length` pixels whose value stands at `place`, which may lie anywhere;
/// `padding` is none of kConstant.
int padded_place(int place, int length, EdgePadding padding);

/// Writes the pixels of a box that reaches beyond `source`, which is not empty, in rows that begin
/// `stride` bytes apart; `padding` is none of kConstant.
void copy_padded(const PixelView& source, const Box& box, EdgePadding padding, std::uint8_t* target,
                 std::ptrdiff_t stride);

}  // namespace paceline::data
