#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace paceline::data {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

/// Text, in letters of 5 x 7 pixels times `scale`, one of them apart.
struct TextStyle {
  Colour colour{220, 220, 220};
  int scale = 2;
  bool is_outlined = false;  ///< in black, to be read on any ground
};
ImageSize text_size(std::string_view text, int scale);

/// Pixels to draw on. What lies outside is left out.
class Canvas {
 public:
  Canvas(ImageSize size, Colour ground);

  ImageSize size() const { return size_; }
  Colour at(int x, int y) const;
  void set(int x, int y, Colour colour);
  void fill(const Box& box, Colour colour);
  /// Letters whose top left corner is at (x, y).
  void write(int x, int y, std::string_view text, const TextStyle& style = {});

  /// 8-bit RGB, row by row.
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }

 private:
  std::size_t offset(int x, int y) const {
    return 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(size_.width) +
                static_cast<std::size_t>(x));
  }
  void write_once(int x, int y, std::string_view text, Colour colour, int scale);

  ImageSize size_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace paceline::data
