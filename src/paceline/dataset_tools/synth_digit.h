#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>

namespace paceline::dataset_tools {

/// Of a drawn digit, in pixels; JPEG's 4:4:4 and this quality keep its strokes sharp.
inline constexpr int kDigitSide = 32;
inline constexpr int kDigitQuality = 90;
inline constexpr int kNumDigits = 10;

/// Picture `index` of a digit from 0 to 9, as if by hand: one of the ways to write it, bent,
/// slanted and turned, in strokes of a drawn width, place and size, among stray strokes and noise.
/// Paper and ink have drawn colours and textures, and either may be the lighter one: on average a
/// pixel is as light in pictures of one digit as of another, so that linear models learn nothing of
/// use. A function of its arguments, to the bit the same on every machine.
data::Image synthesize_digit(int digit, std::uint64_t seed, std::int64_t index);

}  // namespace paceline::dataset_tools
