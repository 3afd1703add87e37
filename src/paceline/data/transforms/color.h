#pragma once

#include "paceline/data/transforms/mutable_pixels.h"

namespace paceline::data {

// Pillow's operations that look at a pixel's three channels at once, as torchvision's adjust_* use
// them.

/// Blends each pixel with its own luma: luma + factor * (byte - luma) in float32, clamped and cut
/// off to a whole number.
void adjust_saturation(const MutablePixels& image, float factor);
/// Turns the hue by `turn` of the circle in Pillow's 8-bit HSV, which also rounds the other pixels'
/// colours.
void adjust_hue(const MutablePixels& image, double turn);

/// The same in plain C++: what the vector code is tested against.
void adjust_saturation_plainly(const MutablePixels& image, float factor);
void adjust_hue_plainly(const MutablePixels& image, double turn);

}  // namespace paceline::data
