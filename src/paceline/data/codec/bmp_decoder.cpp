#include "paceline/data/codec/bmp_decoder.h"

#include "paceline/data/codec/byte_source.h"
#include "paceline/data/image/limits.h"

#include <array>
#include <cstdlib>
#include <vector>

namespace paceline::data {
namespace {

constexpr std::uint64_t kFileHeader = 14;  ///< bytes before the picture's header
constexpr std::uint32_t kRunCoded = 1;     ///< the compression RLE8
constexpr std::uint32_t kOldHeader = 12;   ///< bytes of OS/2's, with numbers of 16 bits

using Rgb = std::array<std::uint8_t, 3>;

struct BmpHeader {
  ImageSize size;
  bool is_top_down = false;
  bool is_run_coded = false;  ///< RLE8
  std::uint32_t bits = 0;
  std::uint64_t pixels_at = 0;
  std::array<std::uint32_t, 3> masks{};  ///< of red, green and blue, of 16 and 32 bits
  std::array<Rgb, 256> palette{};        ///< black where the file has none

  std::uint64_t row_bytes() const {
    return (static_cast<std::uint64_t>(size.width) * bits + 31) / 32 * 4;
  }
};

void read_palette(const ByteSource& file, std::uint32_t header_bytes, BmpHeader& header) {
  const bool is_old = header_bytes == kOldHeader;
  const std::uint32_t most = 1u << header.bits;
  const std::uint32_t told = is_old ? 0 : file.number(kFileHeader + 32, 4);
  const std::uint32_t count = told == 0 || told > most ? most : told;
  const std::uint64_t entry_bytes = is_old ? 3 : 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto entry = file.part(kFileHeader + header_bytes + i * entry_bytes, 3);
    header.palette[i] = {entry[2], entry[1], entry[0]};
  }
}

void read_masks(const ByteSource& file, std::uint32_t compression, BmpHeader& header) {
  constexpr std::uint32_t kBitFields = 3;
  header.masks = {0xFF0000, 0xFF00, 0xFF};
  if (header.bits == 16) header.masks = {0x7C00, 0x3E0, 0x1F};
  if (compression != kBitFields) return;
  // Behind the picture's header of 40 bytes, or in a longer one.
  for (std::uint64_t i = 0; i < 3; ++i) header.masks[i] = file.number(kFileHeader + 40 + 4 * i, 4);
}

BmpHeader read_bmp_header(const ByteSource& file) {
  BmpHeader header;
  const std::uint32_t header_bytes = file.number(kFileHeader, 4);
  const bool is_old = header_bytes == kOldHeader;
  if (!is_old && (header_bytes < 40 || header_bytes > 124)) file.fail("a header of unknown size");
  std::uint32_t compression = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  if (is_old) {
    width = file.number(kFileHeader + 4, 2);
    height = file.number(kFileHeader + 6, 2);
    header.bits = file.number(kFileHeader + 10, 2);
  } else {
    width = file.number(kFileHeader + 4, 4);
    height = file.number(kFileHeader + 8, 4);
    header.bits = file.number(kFileHeader + 14, 2);
    compression = file.number(kFileHeader + 16, 4);
    header.is_top_down = (height >> 31) != 0;
    if (header.is_top_down) height = 0u - height;
  }
  header.size = checked_size(height, width);
  header.pixels_at = file.number(10, 4);
  const std::uint32_t bits = header.bits;
  const bool has_palette = bits == 1 || bits == 4 || bits == 8;
  const bool has_masks = bits == 16 || bits == 32;
  header.is_run_coded = bits == 8 && compression == kRunCoded && !header.is_top_down;
  if ((!has_palette && !has_masks && bits != 24) ||
      (compression != 0 && !(has_masks && compression == 3) && !header.is_run_coded)) {
    throw base::DataError(fmt::format(
        "a BMP of {} bits a pixel and compression {}: 1, 4, 8, 16, 24 and 32 bits without "
        "compression, and 8 bits as RLE8, can be decoded; save it as PNG",
        bits, compression));
  }
  if (has_palette) read_palette(file, header_bytes, header);
  if (has_masks) read_masks(file, compression, header);
  return header;
}

/// Undoes RLE8: rows of indices, the lowest first, as they would be stored without it. What
/// the codes of a row leave out is 0.
std::vector<std::uint8_t> expand_runs(const ByteSource& file, const BmpHeader& header) {
  const auto width = static_cast<std::size_t>(header.size.width);
  const auto height = static_cast<std::size_t>(header.size.height);
  std::vector<std::uint8_t> rows(header.row_bytes() * height);
  std::uint64_t at = header.pixels_at;
  std::size_t x = 0;
  std::size_t y = 0;
  const auto next = [&] { return file.number(at++, 1); };
  const auto put = [&](std::uint32_t value) {
    if (x < width && y < height)
      rows[y * header.row_bytes() + x] = static_cast<std::uint8_t>(value);
    ++x;
  };
  while (y < height) {
    const std::uint32_t count = next();
    const std::uint32_t value = next();
    if (count > 0) {
      for (std::uint32_t i = 0; i < count; ++i) put(value);
    } else if (value == 0) {  // the row's end
      x = 0;
      ++y;
    } else if (value == 1) {  // the picture's
      if (y + 1 == height && x == width) return rows;
      file.fail("its RLE8 ends before the picture does");
    } else if (value == 2) {  // a jump
      x += next();
      y += next();
    } else {
      for (std::uint32_t i = 0; i < value; ++i) put(next());
      at += value % 2;
    }
    if (x > width) file.fail("a row of RLE8 is longer than the picture is wide");
  }
  return rows;
}

/// The field under a mask as a byte, as Pillow widens it.
std::uint8_t field(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = __builtin_ctz(mask);
  const std::uint32_t most = mask >> shift;
  const std::uint64_t value = (pixel & mask) >> shift;
  return static_cast<std::uint8_t>(value * 255 / most);
}

Rgb pixel_at(std::span<const std::uint8_t> row, std::size_t x, const BmpHeader& header) {
  switch (header.bits) {
    case 24:
      return {row[3 * x + 2], row[3 * x + 1], row[3 * x]};
    case 16:
    case 32: {
      const std::size_t bytes = header.bits / 8;
      std::uint32_t pixel = 0;
      for (std::size_t i = bytes; i-- > 0;) pixel = pixel << 8 | row[x * bytes + i];
      return {field(pixel, header.masks[0]), field(pixel, header.masks[1]),
              field(pixel, header.masks[2])};
    }
    default: {
      const std::size_t bit = x * header.bits;
      const std::uint32_t shift = 8 - header.bits - bit % 8;
      return header.palette[(row[bit / 8] >> shift) & ((1u << header.bits) - 1)];
    }
  }
}

}  // namespace

ImageSize read_bmp_size(std::span<const std::uint8_t> bytes) {
  return read_bmp_header(ByteSource(bytes, "BMP")).size;
}

PixelView decode_bmp(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  const ByteSource file(bytes, "BMP");
  const BmpHeader header = read_bmp_header(file);
  const auto height = static_cast<std::uint64_t>(header.size.height);
  const auto width = static_cast<std::size_t>(header.size.width);
  std::vector<std::uint8_t> expanded;
  if (header.is_run_coded) expanded = expand_runs(file, header);
  const auto rows = header.is_run_coded ? std::span<const std::uint8_t>(expanded)
                                        : file.part(header.pixels_at, height * header.row_bytes());
  std::uint8_t* const target = buffer.reserve(3 * width * height);
  for (std::uint64_t y = 0; y < height; ++y) {
    const std::uint64_t stored = header.is_top_down ? y : height - 1 - y;
    const auto row = rows.subspan(stored * header.row_bytes(), header.row_bytes());
    std::uint8_t* out = target + 3 * width * y;
    for (std::size_t x = 0; x < width; ++x) {
      for (const std::uint8_t value : pixel_at(row, x, header)) *out++ = value;
    }
  }
  return {target, header.size, static_cast<std::ptrdiff_t>(3 * width)};
}

}  // namespace paceline::data
