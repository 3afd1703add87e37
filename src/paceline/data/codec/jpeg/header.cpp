#include "paceline/data/codec/jpeg/header.h"

#include <algorithm>
#include <numeric>

namespace paceline::data::jpeg {

namespace {

using Bytes = std::span<const std::uint8_t>;

/// libjpeg refuses wider and higher images.
constexpr int kMaxSide = 65500;
/// Below this width of chroma libjpeg repeats samples instead of interpolating.
constexpr int kMinNarrowChroma = 3;

constexpr int kStartOfImage = 0xFFD8;

enum Marker : std::uint8_t {
  kBaseline = 0xC0,
  kExtended = 0xC1,
  kHuffmanCodes = 0xC4,
  kScan = 0xDA,
  kQuantisers = 0xDB,
  kRestartInterval = 0xDD,
  kFirstApplication = 0xE0,
  kAdobe = 0xEE,
  kLastApplication = 0xEF,
  kComment = 0xFE,
};

class HeaderParser {
 public:
  HeaderParser(Bytes file, Header& header) : file_(file), header_(header) {}
  bool parse();

 private:
  bool take_segment(std::uint8_t marker, Bytes body);
  bool take_frame(Bytes body);
  bool take_quantisers(Bytes body);
  bool take_huffman_codes(Bytes body);
  bool take_restart_interval(Bytes body);
  bool take_scan(Bytes body);
  bool is_ycc_for(Bytes adobe) const;
  bool has_known_sampling() const;

  Bytes file_;
  Header& header_;
  std::array<std::uint8_t, kMaxComponents> ids_{};
};

int read_u16(Bytes bytes, std::size_t at) { return bytes[at] << 8 | bytes[at + 1]; }

bool HeaderParser::parse() {
  header_.num_components = 0;
  header_.restart_interval = 0;
  for (auto* codes : {&header_.dc_codes, &header_.ac_codes}) {
    for (HuffmanCode& code : *codes) code.is_defined = false;
  }
  for (Quantisers& quantisers : header_.quantisers) quantisers.is_defined = false;
  if (file_.size() < 2 || read_u16(file_, 0) != kStartOfImage) return false;
  std::size_t at = 2;
  while (at + 4 <= file_.size() && file_[at] == 0xFF) {
    const std::uint8_t marker = file_[at + 1];
    if (marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    const auto length = static_cast<std::size_t>(read_u16(file_, at + 2));
    if (length < 2 || at + 2 + length > file_.size()) return false;
    const Bytes body = file_.subspan(at + 4, length - 2);
    at += 2 + length;
    if (marker == kScan) {
      header_.scan_begin = at;
      return take_scan(body);
    }
    if (!take_segment(marker, body)) return false;
  }
  return false;
}

bool HeaderParser::take_segment(std::uint8_t marker, Bytes body) {
  switch (marker) {
    case kBaseline:
    case kExtended:
      return take_frame(body);
    case kQuantisers:
      return take_quantisers(body);
    case kHuffmanCodes:
      return take_huffman_codes(body);
    case kRestartInterval:
      return take_restart_interval(body);
    case kAdobe:
      return is_ycc_for(body);
    default:
      return marker == kComment || (marker >= kFirstApplication && marker <= kLastApplication);
  }
}

/// Adobe's segment may say that the colours are not YCbCr.
bool HeaderParser::is_ycc_for(Bytes adobe) const {
  constexpr std::array<std::uint8_t, 5> kName = {'A', 'd', 'o', 'b', 'e'};
  constexpr std::size_t kTransform = 11;
  const bool is_adobe =
      adobe.size() > kTransform && std::ranges::equal(adobe.first(kName.size()), kName);
  return !is_adobe || adobe[kTransform] == 1;
}

bool HeaderParser::take_frame(Bytes body) {
  if (body.size() < 6 || header_.num_components != 0) return false;
  const std::size_t count = body[5];
  if (body[0] != 8 || (count != 1 && count != 3) || body.size() != 6 + 3 * count) return false;
  header_.size = {read_u16(body, 1), read_u16(body, 3)};
  const auto [height, width] = header_.size;
  if (height < 1 || width < 1 || height > kMaxSide || width > kMaxSide) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes fields = body.subspan(6 + 3 * i, 3);
    ids_[i] = fields[0];
    header_.components[i] = {
        .columns = fields[1] >> 4, .rows = fields[1] & 15, .quantisers = fields[2]};
  }
  header_.num_components = count;
  return has_known_sampling();
}

bool HeaderParser::has_known_sampling() const {
  const auto is = [](const Component& component, int columns, int rows) {
    return component.columns == columns && component.rows == rows;
  };
  const Component& luma = header_.components[0];
  if (header_.num_components == 1) return is(luma, 1, 1);
  if (!is(header_.components[1], 1, 1) || !is(header_.components[2], 1, 1)) return false;
  if (luma.columns < 1 || luma.columns > 2 || luma.rows < 1 || luma.rows > 2) return false;
  constexpr std::array<std::uint8_t, kMaxComponents> kRgb = {'R', 'G', 'B'};
  return ids_ != kRgb && (luma.columns == 1 || (header_.size.width + 1) / 2 >= kMinNarrowChroma);
}

bool HeaderParser::take_quantisers(Bytes body) {
  while (body.size() >= 1 + kBlockSize) {
    if (body[0] >= header_.quantisers.size()) return false;  // also those of 16 bits
    Quantisers& quantisers = header_.quantisers[body[0]];
    for (std::size_t i = 0; i < kBlockSize; ++i) quantisers.values[kZigzag[i]] = body[1 + i];
    quantisers.is_defined = true;
    body = body.subspan(1 + kBlockSize);
  }
  return body.empty();
}

bool HeaderParser::take_huffman_codes(Bytes body) {
  constexpr std::size_t kCounts = 16;
  constexpr std::uint8_t kAcFlag = 0x10;
  while (body.size() >= 1 + kCounts) {
    auto& codes = (body[0] & kAcFlag) != 0 ? header_.ac_codes : header_.dc_codes;
    const auto index = static_cast<std::size_t>(body[0] & ~kAcFlag);
    if (index >= codes.size()) return false;
    HuffmanCode& code = codes[index];
    std::ranges::copy(body.subspan(1, kCounts), code.counts.begin());
    const auto count = std::accumulate(code.counts.begin(), code.counts.end(), std::size_t{0});
    body = body.subspan(1 + kCounts);
    if (count > code.symbols.size() || count > body.size()) return false;
    std::fill(std::ranges::copy(body.first(count), code.symbols.begin()).out, code.symbols.end(),
              std::uint8_t{0});
    code.is_defined = true;
    body = body.subspan(count);
  }
  return body.empty();
}

bool HeaderParser::take_restart_interval(Bytes body) {
  if (body.size() != 2) return false;
  header_.restart_interval = read_u16(body, 0);
  return true;
}

bool HeaderParser::take_scan(Bytes body) {
  const std::size_t count = header_.num_components;
  if (count == 0 || body.size() != 4 + 2 * count || body[0] != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    Component& component = header_.components[i];
    const std::uint8_t id = body[1 + 2 * i];
    const std::uint8_t codes = body[2 + 2 * i];
    if (id != ids_[i] || std::ranges::count(ids_.begin(), ids_.begin() + count, id) != 1) {
      return false;
    }
    component.dc_code = codes >> 4;
    component.ac_code = codes & 15;
    if (component.quantisers >= header_.quantisers.size() ||
        component.dc_code >= header_.dc_codes.size() ||
        component.ac_code >= header_.ac_codes.size() ||
        !header_.quantisers[component.quantisers].is_defined ||
        !header_.dc_codes[component.dc_code].is_defined ||
        !header_.ac_codes[component.ac_code].is_defined) {
      return false;
    }
  }
  // All coefficients of the blocks in one go.
  const Bytes spectrum = body.last(3);
  return spectrum[0] == 0 && spectrum[1] == kBlockSize - 1 && spectrum[2] == 0;
}

}  // namespace

bool parse_header(std::span<const std::uint8_t> file, Header& header) {
  return HeaderParser(file, header).parse();
}

}  // namespace paceline::data::jpeg
