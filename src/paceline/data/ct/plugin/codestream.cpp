#include "paceline/data/ct/plugin/codestream.h"

#include <cstdint>

namespace paceline::data {
namespace {

/// Big endian; zeros behind the end.
std::uint32_t number_at(std::string_view bytes, std::size_t place, int size) {
  std::uint32_t number = 0;
  for (int i = 0; i < size; ++i, ++place) {
    const std::uint8_t byte = place < bytes.size() ? static_cast<std::uint8_t>(bytes[place]) : 0;
    number = number << 8U | byte;
  }
  return number;
}

bool is_frame_marker(std::uint32_t marker) {
  const bool is_table = marker == 0xFFC4 || marker == 0xFFC8 || marker == 0xFFCC;
  return (marker >= 0xFFC0 && marker <= 0xFFCF && !is_table) || marker == 0xFFF7;
}

}  // namespace

std::optional<CodestreamHeader> read_jpeg_header(std::string_view bytes) {
  if (number_at(bytes, 0, 2) != 0xFFD8) return std::nullopt;
  for (std::size_t place = 2; place + 10 <= bytes.size();) {
    const std::uint32_t marker = number_at(bytes, place, 2);
    if (is_frame_marker(marker))
      return CodestreamHeader{.columns = number_at(bytes, place + 7, 2),
                              .rows = number_at(bytes, place + 5, 2),
                              .components = number_at(bytes, place + 9, 1),
                              .bits = number_at(bytes, place + 4, 1)};
    if (marker < 0xFF00) return std::nullopt;
    const std::size_t length = number_at(bytes, place + 2, 2);
    place += marker == 0xFFFF ? 1 : 2 + length;  // a marker may be led by filling bytes
  }
  return std::nullopt;
}

std::optional<CodestreamHeader> read_jpeg2000_header(std::string_view bytes) {
  constexpr std::size_t kHeaderBytes = 45;
  if (bytes.size() < kHeaderBytes || number_at(bytes, 0, 4) != 0xFF4FFF51) return std::nullopt;
  const unsigned samples_apart = number_at(bytes, 43, 2);
  if (samples_apart != 0x0101) return std::nullopt;  // of each pixel one
  return CodestreamHeader{.columns = number_at(bytes, 8, 4) - number_at(bytes, 16, 4),
                          .rows = number_at(bytes, 12, 4) - number_at(bytes, 20, 4),
                          .components = number_at(bytes, 40, 2),
                          .bits = (number_at(bytes, 42, 1) & 0x7FU) + 1};
}

bool ends_with_marker(std::string_view bytes) {
  if (bytes.ends_with('\0')) bytes.remove_suffix(1);
  return bytes.ends_with("\xFF\xD9");
}

}  // namespace paceline::data
