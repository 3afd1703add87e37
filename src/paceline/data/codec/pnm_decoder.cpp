#include "paceline/data/codec/pnm_decoder.h"

#include "paceline/data/codec/byte_source.h"
#include "paceline/data/image/limits.h"

#include <array>
#include <cmath>
#include <cstring>

namespace paceline::data {
namespace {

/// Numbers as text between white space; '#' begins a comment.
class PnmText {
 public:
  explicit PnmText(const ByteSource& file) : file_(file) {}

  std::uint32_t take_number() {
    skip_blanks();
    std::uint32_t value = 0;
    int digits = 0;
    for (; at_ < file_.size() && is_digit(peek()); ++at_, ++digits) {
      value = 10 * value + (peek() - '0');
      if (digits == 9) file_.fail("a number of more than nine digits");
    }
    if (digits == 0) file_.fail("a number is missing");
    return value;
  }
  /// Where the next byte lies.
  std::uint64_t at() const { return at_; }

 private:
  static bool is_digit(std::uint32_t byte) { return byte >= '0' && byte <= '9'; }
  static bool is_blank(std::uint32_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }
  std::uint32_t peek() const { return file_.number(at_, 1); }

  void skip_blanks() {
    while (at_ < file_.size() && (is_blank(peek()) || peek() == '#')) {
      if (peek() == '#') {
        while (at_ < file_.size() && peek() != '\n' && peek() != '\r') ++at_;
      } else {
        ++at_;
      }
    }
  }

  const ByteSource& file_;
  std::uint64_t at_ = 2;  // behind "P6"
};

struct PnmHeader {
  ImageSize size;
  bool is_color = false;
  bool is_text = false;
  std::uint32_t largest = 0;  ///< value, which stands for 255

  std::uint64_t values_per_row() const {
    return static_cast<std::uint64_t>(size.width) * (is_color ? 3 : 1);
  }
};

PnmHeader take_header(const ByteSource& file, PnmText& text) {
  PnmHeader header;
  const std::uint32_t kind = file.number(1, 1);
  header.is_color = kind == '3' || kind == '6';
  header.is_text = kind == '2' || kind == '3';
  const std::uint32_t width = text.take_number();
  const std::uint32_t height = text.take_number();
  header.size = checked_size(height, width);
  header.largest = text.take_number();
  if (header.largest == 0) file.fail("its largest value is 0");
  if (header.largest > 255) {
    throw base::DataError(
        fmt::format("a PGM or PPM of values up to {}: up to 255 can be decoded; save it as PNG",
                    header.largest));
  }
  return header;
}

/// Every value as a share of 255, as Pillow rounds it.
std::array<std::uint8_t, 256> scaled_values(std::uint32_t largest) {
  std::array<std::uint8_t, 256> scaled{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    const double share = static_cast<double>(i) / largest * 255;
    scaled[i] = static_cast<std::uint8_t>(std::fmin(255.0, std::nearbyint(share)));
  }
  return scaled;
}

}  // namespace

ImageSize read_pnm_size(std::span<const std::uint8_t> bytes) {
  const ByteSource file(bytes, "PGM or PPM");
  PnmText text(file);
  return take_header(file, text).size;
}

PixelView decode_pnm(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  const ByteSource file(bytes, "PGM or PPM");
  PnmText text(file);
  const PnmHeader header = take_header(file, text);
  const auto height = static_cast<std::uint64_t>(header.size.height);
  const auto width = static_cast<std::uint64_t>(header.size.width);
  // One blank ends the header. The shortest text has a digit and a blank for each value, but the
  // last one no blank.
  const std::uint64_t count = header.values_per_row() * height;
  const auto values = file.part(text.at() + 1, header.is_text ? 2 * count - 1 : count);
  const std::array<std::uint8_t, 256> scaled = scaled_values(header.largest);
  std::uint8_t* const target = buffer.reserve(3 * width * height);
  std::uint8_t* out = target;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t value = header.is_text ? text.take_number() : values[i];
    if (header.is_text && value > header.largest) file.fail("a value is larger than its largest");
    std::memset(out, scaled[value], header.is_color ? 1 : 3);
    out += header.is_color ? 1 : 3;
  }
  return {target, header.size, static_cast<std::ptrdiff_t>(3 * width)};
}

}  // namespace paceline::data
