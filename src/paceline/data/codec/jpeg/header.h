#pragma once

#include "paceline/data/image/pixels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::data::jpeg {

/// A Huffman code as a file defines it.
struct HuffmanCode {
  std::array<std::uint8_t, 16> counts{};    ///< how many codes have 1 to 16 bits
  std::array<std::uint8_t, 256> symbols{};  ///< by increasing code, zero behind the last
  bool is_defined = false;
  friend bool operator==(const HuffmanCode&, const HuffmanCode&) = default;
};

struct Component {
  int columns = 1;  ///< blocks of an MCU side by side
  int rows = 1;     ///< and above each other
  std::size_t quantisers = 0;
  std::size_t dc_code = 0;
  std::size_t ac_code = 0;
};

inline constexpr std::size_t kMaxComponents = 3;
/// Width and height of a block.
inline constexpr int kBlockSide = 8;
inline constexpr std::size_t kBlockSize = 64;

/// The order in which a block's coefficients are coded; the number is their place by rows.
inline constexpr std::array<std::uint8_t, kBlockSize> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Multipliers of the coefficients, by rows.
struct Quantisers {
  alignas(16) std::array<std::int16_t, kBlockSize> values{};
  bool is_defined = false;
};

/// All that stands before the compressed data of a file of the common kind.
struct Header {
  ImageSize size;
  std::size_t num_components = 0;  ///< 1 (grey) or 3 (YCbCr)
  std::array<Component, kMaxComponents> components;
  std::array<Quantisers, 4> quantisers;
  std::array<HuffmanCode, 4> dc_codes;
  std::array<HuffmanCode, 4> ac_codes;
  int restart_interval = 0;    ///< in MCUs, 0 for none
  std::size_t scan_begin = 0;  ///< where the compressed data start, in bytes from the file's begin

  /// An MCU's size in pixels; also the number of luma samples, as luma is never subsampled.
  int mcu_width() const { return kBlockSide * components[0].columns; }
  int mcu_height() const { return kBlockSide * components[0].rows; }
  int mcu_columns() const { return (size.width + mcu_width() - 1) / mcu_width(); }
  int mcu_rows() const { return (size.height + mcu_height() - 1) / mcu_height(); }
  bool has_chroma() const { return num_components == kMaxComponents; }
  bool has_narrow_chroma() const { return has_chroma() && components[0].columns == 2; }
  bool has_low_chroma() const { return has_chroma() && components[0].rows == 2; }
};

/// Reads the header of a sequential Huffman-coded file with 8-bit samples in one scan: grey, or
/// YCbCr with chroma of full or half width and height. False for any other file, sound or damaged,
/// and wherever libjpeg might see something else; `header` is undefined then.
bool parse_header(std::span<const std::uint8_t> file, Header& header);

}  // namespace paceline::data::jpeg
