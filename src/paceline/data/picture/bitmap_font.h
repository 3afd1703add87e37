#pragma once

#include <array>
#include <cstdint>

namespace paceline::data {

inline constexpr int kGlyphWidth = 5;   ///< pixels
inline constexpr int kGlyphHeight = 7;  ///< likewise
using Glyph = std::array<std::uint8_t, kGlyphHeight>;

/// The rows of a character from the top, of each the leftmost pixel in bit 4. Letters, digits and
/// what stands between them; anything else is empty, as a space is.
Glyph glyph_of(char character);

}  // namespace paceline::data
