#include "paceline/data/picture/canvas.h"

#include "paceline/base/error.h"
#include "paceline/data/picture/bitmap_font.h"

#include <algorithm>

namespace paceline::data {

ImageSize text_size(std::string_view text, int scale) {
  const int letters = static_cast<int>(text.size());
  return {kGlyphHeight * scale, letters == 0 ? 0 : (letters * (kGlyphWidth + 1) - 1) * scale};
}

Canvas::Canvas(ImageSize size, Colour ground) : size_(size) {
  PACELINE_CHECK(size.height > 0 && size.width > 0, "a canvas of {} x {} pixels", size.width,
                 size.height);
  pixels_.resize(offset(0, size.height));
  fill(whole(size), ground);
}

Colour Canvas::at(int x, int y) const {
  const std::uint8_t* const pixel = pixels_.data() + offset(x, y);
  return {pixel[0], pixel[1], pixel[2]};
}

void Canvas::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= size_.width || y >= size_.height) return;
  std::uint8_t* const pixel = pixels_.data() + offset(x, y);
  pixel[0] = colour.red;
  pixel[1] = colour.green;
  pixel[2] = colour.blue;
}

void Canvas::fill(const Box& box, Colour colour) {
  for (int y = std::max(0, box.top); y < std::min(size_.height, box.bottom()); ++y) {
    for (int x = std::max(0, box.left); x < std::min(size_.width, box.right()); ++x)
      set(x, y, colour);
  }
}

void Canvas::write_once(int x, int y, std::string_view text, Colour colour, int scale) {
  for (const char character : text) {
    const Glyph glyph = glyph_of(character);
    for (int row = 0; row < kGlyphHeight; ++row) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        const unsigned bits = glyph.at(static_cast<std::size_t>(row));
        if ((bits >> (kGlyphWidth - 1 - column) & 1U) != 0)
          fill({y + row * scale, x + column * scale, scale, scale}, colour);
      }
    }
    x += (kGlyphWidth + 1) * scale;
  }
}

void Canvas::write(int x, int y, std::string_view text, const TextStyle& style) {
  if (style.is_outlined) {
    for (const int down : {-1, 0, 1}) {
      for (const int right : {-1, 0, 1}) write_once(x + right, y + down, text, {}, style.scale);
    }
  }
  write_once(x, y, text, style.colour, style.scale);
}

}  // namespace paceline::data
