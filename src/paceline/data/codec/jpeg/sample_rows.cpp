#include "paceline/data/codec/jpeg/sample_rows.h"

#include <algorithm>
#include <cstddef>

namespace paceline::data::jpeg {
namespace {

std::uint8_t to_byte(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

/// `value` / 2^16 for a value * 2^16 given as a real number, rounded.
constexpr int fixed_point(double value) { return static_cast<int>(value * 65536 + 0.5); }

}  // namespace

void blend_rows_scalar(const std::uint8_t* near, const std::uint8_t* far, int count,
                       Rounding rounding, std::uint8_t* target) {
  const int bias = rounding == Rounding::kUp ? 2 : 1;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    target[i] = to_byte((3 * near[i] + far[i] + bias) >> 2);
}

void widen_row_scalar(const std::uint8_t* samples, int count, std::uint8_t* target) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    target[2 * i] = to_byte((3 * samples[i] + samples[i - 1] + 1) >> 2);
    target[2 * i + 1] = to_byte((3 * samples[i] + samples[i + 1] + 2) >> 2);
  }
}

void widen_blended_row_scalar(const std::uint8_t* near, const std::uint8_t* far, int count,
                              std::uint8_t* target) {
  const auto sum = [=](std::ptrdiff_t i) { return 3 * near[i] + far[i]; };
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    target[2 * i] = to_byte((3 * sum(i) + sum(i - 1) + 8) >> 4);
    target[2 * i + 1] = to_byte((3 * sum(i) + sum(i + 1) + 7) >> 4);
  }
}

void convert_ycc_row_scalar(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                            int count, std::uint8_t* rgb) {
  constexpr int kHalf = 1 << 15;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const int blue = cb[i] - 128;
    const int red = cr[i] - 128;
    *rgb++ = to_byte(y[i] + ((fixed_point(1.402) * red + kHalf) >> 16));
    *rgb++ =
        to_byte(y[i] + ((-fixed_point(0.34414) * blue - fixed_point(0.71414) * red + kHalf) >> 16));
    *rgb++ = to_byte(y[i] + ((fixed_point(1.772) * blue + kHalf) >> 16));
  }
}

}  // namespace paceline::data::jpeg
