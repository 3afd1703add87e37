#include "paceline/data/codec/jpeg_facts.h"

#include <string_view>

#include <fmt/format.h>

namespace paceline::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::size_t big_endian(Bytes bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 8 | bytes[at + 1];
}

/// Start-of-frame markers; the others between 0xC0 and 0xCF define tables.
bool is_frame(std::uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

std::string_view process_of(std::uint8_t marker) {
  if (marker >= 0xC9) return "arithmetic";
  switch (marker) {
    case 0xC0:
      return "baseline";
    case 0xC1:
      return "extended";
    case 0xC2:
      return "progressive";
    default:
      return "lossless or hierarchical";
  }
}

/// By the sampling factors of the first two components, as photographers write it.
std::string sampling_of(Bytes frame) {
  constexpr std::size_t kCountAt = 5;  // behind precision, height and width
  const std::size_t count = frame[kCountAt];
  if (count == 1) return "grey";
  if (count == 4) return "CMYK";
  if (count != 3 || frame.size() < kCountAt + 1 + 3 * count) return fmt::format("{} parts", count);
  const std::uint8_t luma = frame[kCountAt + 2];
  const std::uint8_t chroma = frame[kCountAt + 5];
  if ((chroma >> 4) == 0 || (chroma & 15) == 0) return "of no sampling";
  const int columns = (luma >> 4) / (chroma >> 4);
  const int rows = (luma & 15) / (chroma & 15);
  if (columns == 1 && rows == 1) return "4:4:4";
  if (columns == 2 && rows == 1) return "4:2:2";
  if (columns == 2 && rows == 2) return "4:2:0";
  if (columns == 1 && rows == 2) return "4:4:0";
  if (columns == 4 && rows == 1) return "4:1:1";
  return fmt::format("{}x{}", columns, rows);
}

}  // namespace

std::optional<std::string> describe_jpeg(Bytes bytes) {
  constexpr std::size_t kSmallestFrame = 6;
  std::size_t at = 2;  // behind start-of-image
  while (at + 4 <= bytes.size()) {
    if (bytes[at] != 0xFF) return std::nullopt;
    const std::uint8_t marker = bytes[at + 1];
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    const std::size_t length = big_endian(bytes, at + 2);  // of itself and what follows
    if (length < 2 || at + 2 + length > bytes.size()) return std::nullopt;
    if (is_frame(marker)) {
      const Bytes frame = bytes.subspan(at + 4, length - 2);
      if (frame.size() < kSmallestFrame) return std::nullopt;
      return fmt::format("{} {}", process_of(marker), sampling_of(frame));
    }
    at += 2 + length;
  }
  return std::nullopt;
}

}  // namespace paceline::data
