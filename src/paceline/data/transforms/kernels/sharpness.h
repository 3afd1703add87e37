#pragma once

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Pillow's ImageEnhance.Sharpness: smooth + factor * (byte - smooth) in float32, clamped and cut
/// off, where `smooth` is the weighted mean of 3 x 3 bytes (the middle one counts 5 times) and the
/// image's border stays as it is. Rows of `target` lie `stride` bytes apart; up to
/// PixelBuffer::kPadding bytes beyond the last pixel of both are read and written.
void sharpen(const PixelView& source, float factor, std::uint8_t* target, std::ptrdiff_t stride);

/// The same in plain C++: what the vector code is tested against.
void sharpen_scalar(const PixelView& source, float factor, std::uint8_t* target,
                    std::ptrdiff_t stride);

}  // namespace paceline::data
