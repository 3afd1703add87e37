#include "paceline/data/transforms/kernels/color.h"

#include "paceline/data/transforms/kernels/image_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paceline::data {
namespace {

std::uint8_t blend(int degenerate, int value, float factor) {
  const float mixed =
      static_cast<float>(degenerate) + factor * static_cast<float>(value - degenerate);
  return static_cast<std::uint8_t>(std::clamp(mixed, 0.0f, 255.0f));
}

struct Hsv {
  std::uint8_t hue = 0;
  std::uint8_t saturation = 0;
  std::uint8_t value = 0;
};

/// Pillow's conversion: ratios in float32, the hue in double, both cut off to bytes.
Hsv to_hsv(const std::uint8_t* rgb) {
  const auto [low, high] = std::minmax({rgb[0], rgb[1], rgb[2]});
  if (low == high) return {0, 0, high};
  const auto spread = static_cast<float>(high - low);
  const float red = static_cast<float>(high - rgb[0]) / spread;
  const float green = static_cast<float>(high - rgb[1]) / spread;
  const float blue = static_cast<float>(high - rgb[2]) / spread;
  float sector = 0.0f;
  if (rgb[0] == high) {
    sector = blue - green;
  } else if (rgb[1] == high) {
    sector = static_cast<float>(2.0 + red - blue);
  } else {
    sector = static_cast<float>(4.0 + green - red);
  }
  const auto hue = static_cast<float>(std::fmod(sector / 6.0 + 1.0, 1.0));
  const float saturation = spread / static_cast<float>(high);
  return {static_cast<std::uint8_t>(hue * 255.0), static_cast<std::uint8_t>(saturation * 255.0),
          high};
}

/// Pillow's conversion back, rounded.
void to_rgb(const Hsv& hsv, std::uint8_t* rgb) {
  const std::uint8_t v = hsv.value;
  const double six = static_cast<float>(hsv.hue) * 6.0 / 255.0;
  const double whole_sector = std::floor(six);
  const auto rest = static_cast<float>(six - whole_sector);
  const auto share = static_cast<float>(hsv.saturation / 255.0);
  const auto scaled = [v](double factor) {
    return static_cast<std::uint8_t>(std::clamp(std::round(v * factor), 0.0, 255.0));
  };
  const std::uint8_t p = scaled(1.0 - share);
  const std::uint8_t q = scaled(1.0 - static_cast<double>(share * rest));
  const std::uint8_t t = scaled(1.0 - share * (1.0 - rest));
  const std::uint8_t sectors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                      {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(sectors[static_cast<int>(whole_sector) % 6], 3, rgb);
}

/// Calls change(source pixel, target pixel) for all.
template <class Change>
void change_pixels(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride,
                   Change change) {
  for (int y = 0; y < source.size.height; ++y) {
    for (std::ptrdiff_t x = 0; x < source.size.width; ++x) {
      change(source.row(y) + 3 * x, target + y * stride + 3 * x);
    }
  }
}

}  // namespace

void adjust_saturation_scalar(const PixelView& source, float factor, std::uint8_t* target,
                              std::ptrdiff_t stride) {
  change_pixels(source, target, stride, [factor](const std::uint8_t* from, std::uint8_t* to) {
    const int gray = luma(from[0], from[1], from[2]);
    for (int channel = 0; channel < 3; ++channel) to[channel] = blend(gray, from[channel], factor);
  });
}

void adjust_hue_scalar(const PixelView& source, double turn, std::uint8_t* target,
                       std::ptrdiff_t stride) {
  const auto shift = static_cast<std::uint8_t>(hue_shift(turn));
  change_pixels(source, target, stride, [shift](const std::uint8_t* from, std::uint8_t* to) {
    Hsv hsv = to_hsv(from);
    hsv.hue = static_cast<std::uint8_t>(hsv.hue + shift);
    to_rgb(hsv, to);
  });
}

}  // namespace paceline::data
