#include "paceline/data/codec/jpeg/huffman_table.h"

#include <algorithm>

namespace paceline::data::jpeg {
namespace {

/// Places that no block reaches, so that what is stored there is spilled.
constexpr std::uint8_t kNowhere = kBlockSize;

/// A symbol of the other coefficients at the front of some bits.
struct Symbol {
  int code_length = 0;  ///< 0: its code does not end within them
  int run = 0;
  int num_bits = 0;

  bool is_end() const { return num_bits == 0 && run != 15; }
  int length() const { return code_length + num_bits; }
};

/// Finds the symbol behind `skipped` of the `count` bits.
Symbol find_symbol(const CodeFinder& finder, std::uint32_t bits, int count, int skipped) {
  const int left = count - skipped;
  const std::uint32_t rest = bits & ((1U << left) - 1);
  const std::uint32_t prefix = rest << (CodeFinder::kMaxBits - left);
  const int length = finder.length(prefix);
  if (length == 0 || length > left) return {};
  const std::uint8_t symbol = finder.symbol(prefix, length);
  return {length, symbol >> 4, symbol & 15};
}

AcTable::Entry make_entry(const CodeFinder& finder, std::uint32_t bits) {
  const auto u8 = [](int value) { return static_cast<std::uint8_t>(value); };
  const Symbol first = find_symbol(finder, bits, AcTable::kBits, 0);
  if (first.code_length == 0) {
    return {.advance = AcTable::kUnknown, .first = kNowhere, .last = kNowhere};
  }
  if (first.is_end()) {
    return {.length = u8(first.code_length),
            .advance = AcTable::kEnded,
            .first = kNowhere,
            .last = kNowhere};
  }
  const AcTable::Entry only = {.length = u8(first.length()),
                               .advance = u8(first.run + 1),
                               .first = u8(first.run),
                               .last = u8(first.run),
                               .last_bit = u8(first.code_length),
                               .last_num_bits = u8(first.num_bits)};
  if (first.length() >= AcTable::kBits) return only;
  const Symbol last = find_symbol(finder, bits, AcTable::kBits, first.length());
  if (last.code_length == 0) return only;
  const std::uint32_t value =
      (bits >> (AcTable::kBits - first.length())) & ((1U << first.num_bits) - 1);
  const int last_place = first.run + 1 + last.run;
  return {.length = u8(first.length() + last.length()),
          .advance = u8(last.is_end() ? first.run + 1 + AcTable::kEnded : last_place + 1),
          .first = u8(first.run),
          .last = last.is_end() ? kNowhere : u8(last_place),
          .last_bit = u8(first.length() + last.code_length),
          .last_num_bits = u8(last.num_bits),
          .first_value = static_cast<std::int16_t>(signed_value(value, first.num_bits))};
}

AcTable::SkipEntry make_skip_entry(const CodeFinder& finder, std::uint32_t bits) {
  int length = 0;
  int advance = 0;
  while (length < AcTable::kSkipBits) {
    const Symbol symbol = find_symbol(finder, bits, AcTable::kSkipBits, length);
    if (symbol.code_length == 0) break;
    // More would be beyond the end of any block.
    if (advance + symbol.run + 1 >= static_cast<int>(kBlockSize) && !symbol.is_end()) break;
    length += symbol.length();
    advance += symbol.is_end() ? AcTable::kEnded : symbol.run + 1;
    if (symbol.is_end()) break;
  }
  if (length == 0) return {.advance = AcTable::kUnknown};
  return {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(advance)};
}

}  // namespace

bool CodeFinder::build(const HuffmanCode& code) {
  symbols = code.symbols;
  std::uint32_t next = 0;
  std::int32_t place = 0;
  for (std::size_t bits = 1; bits <= kMaxBits; ++bits) {
    next <<= 1;
    const std::uint32_t count = code.counts[bits - 1];
    offsets[bits] = place - static_cast<std::int32_t>(next);
    place += static_cast<std::int32_t>(count);
    next += count;
    // No code may consist of ones only.
    if (count > 0 && next >= (1U << bits)) return false;
    limits[bits] = next << (kMaxBits - bits);
  }
  return true;
}

bool DcTable::build(const HuffmanCode& code) {
  constexpr int kMaxDcBits = 15;
  if (!finder.build(code)) return false;
  if (std::ranges::max(code.symbols) > kMaxDcBits) return false;
  for (std::uint32_t bits = 0; bits < entries.size(); ++bits) {
    const std::uint32_t prefix = bits << (CodeFinder::kMaxBits - kBits);
    const int length = finder.length(prefix);
    entries[bits] = {};
    if (length == 0 || length > kBits) continue;
    const std::uint8_t num_bits = finder.symbol(prefix, length);
    entries[bits] = {static_cast<std::uint8_t>(length + num_bits),
                     static_cast<std::uint8_t>(length), num_bits};
  }
  return true;
}

bool AcTable::build(const HuffmanCode& code) {
  if (!finder.build(code)) return false;
  for (std::uint32_t bits = 0; bits < entries.size(); ++bits) {
    entries[bits] = make_entry(finder, bits);
  }
  for (std::uint32_t bits = 0; bits < skip_entries.size(); ++bits) {
    skip_entries[bits] = make_skip_entry(finder, bits);
  }
  return true;
}

}  // namespace paceline::data::jpeg
