#pragma once

#include <cstdint>

namespace paceline::data::jpeg {

// Upsampling and colours as libjpeg computes them, on rows of samples. The vector code may read and
// write kRowPadding bytes beyond what is asked for (three times as many of RGB).
inline constexpr int kRowPadding = 64;

/// Which way exact halves are rounded; libjpeg alternates.
enum class Rounding { kDown, kUp };

/// target[i] = (3 * near[i] + far[i]) / 4: a row between two, nearer to `near`.
void blend_rows(const std::uint8_t* near, const std::uint8_t* far, int count, Rounding rounding,
                std::uint8_t* target);

/// Doubles a row's length: each of `count` samples becomes two, which lie a quarter of the way to
/// its neighbours. Reads samples[-1] and samples[count].
void widen_row(const std::uint8_t* samples, int count, std::uint8_t* target);

/// Both at once, with rounding only at the end. Reads [-1] and [count] of both rows.
void widen_blended_row(const std::uint8_t* near, const std::uint8_t* far, int count,
                       std::uint8_t* target);

/// YCbCr to RGB triples.
void convert_ycc_row(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                     int count, std::uint8_t* rgb);

/// Each sample three times.
void convert_gray_row(const std::uint8_t* y, int count, std::uint8_t* rgb);

// Scalar code; the oracles in tests.
void blend_rows_scalar(const std::uint8_t* near, const std::uint8_t* far, int count,
                       Rounding rounding, std::uint8_t* target);
void widen_row_scalar(const std::uint8_t* samples, int count, std::uint8_t* target);
void widen_blended_row_scalar(const std::uint8_t* near, const std::uint8_t* far, int count,
                              std::uint8_t* target);
void convert_ycc_row_scalar(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                            int count, std::uint8_t* rgb);

}  // namespace paceline::data::jpeg
