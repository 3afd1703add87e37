#include "paceline/data/codec/jpeg/huffman_table.h"

#include <algorithm>

namespace paceline::data::jpeg {
namespace {

/// A symbol of the other coefficients at the front of some bits.
struct Symbol {
  int code_length = 0;  ///< 0: its code does not end within them
  int run = 0;
  int num_bits = 0;

  bool is_end() const { return num_bits == 0 && run != 15; }
  int length() const { return code_length + num_bits; }
  std::uint32_t step() const {
    const auto places =
        is_end() ? progress::kEnded : static_cast<std::uint32_t>(run + 1) * progress::kPlace;
    return places + static_cast<std::uint32_t>(length());
  }
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

/// Sets what an index of the table finds.
void set_entry(AcTable& table, std::uint32_t index) {
  constexpr int kMaxFirstBits = 7;
  const Symbol first = find_symbol(table.finder, index, AcTable::kBits, 0);
  const bool is_known = first.code_length > 0;
  table.steps[index] = static_cast<std::uint16_t>(is_known ? first.step() : progress::kUnknown);
  table.last_num_bits[index] = static_cast<std::uint8_t>(first.num_bits);
  table.first_runs[index] = static_cast<std::uint8_t>(first.run);
  table.first_values[index] = 0;
  if (!is_known || first.is_end() || first.length() >= AcTable::kBits ||
      first.num_bits > kMaxFirstBits) {
    return;
  }
  const Symbol last = find_symbol(table.finder, index, AcTable::kBits, first.length());
  if (last.code_length == 0) return;
  const std::uint32_t value =
      (index >> (AcTable::kBits - first.length())) & ((1U << first.num_bits) - 1);
  table.steps[index] = static_cast<std::uint16_t>(first.step() + last.step());
  table.last_num_bits[index] = static_cast<std::uint8_t>(last.num_bits);
  table.first_values[index] = static_cast<std::int8_t>(signed_value(value, first.num_bits));
}

std::uint16_t make_skip_step(const CodeFinder& finder, std::uint32_t index) {
  int length = 0;
  std::uint32_t step = 0;
  while (length < AcTable::kSkipBits) {
    const Symbol symbol = find_symbol(finder, index, AcTable::kSkipBits, length);
    if (symbol.code_length == 0) break;
    // More would be beyond the end of any block.
    if (step + symbol.step() >= progress::kBlockEnd && !symbol.is_end()) break;
    length += symbol.length();
    step += symbol.step();
    if (symbol.is_end()) break;
  }
  return static_cast<std::uint16_t>(length == 0 ? progress::kUnknown : step);
}

}  // namespace

bool CodeFinder::build(const HuffmanCode& code) {
  symbols = code.symbols;
  std::uint32_t next = 0;
  std::uint32_t place = 0;
  for (std::size_t bits = 1; bits <= kMaxBits; ++bits) {
    next <<= 1;
    const std::uint32_t count = code.counts[bits - 1];
    offsets[bits] = place - next;
    place += count;
    next += count;
    // No code may consist of ones only.
    if (count > 0 && next >= (1U << bits)) return false;
    limits[bits] = next << (kMaxBits - bits);
  }
  return true;
}

bool DcTable::build(const HuffmanCode& code) {
  if (!finder.build(code) || std::ranges::max(code.symbols) > kMaxValueBits) return false;
  for (std::uint32_t bits = 0; bits < entries.size(); ++bits) {
    const std::uint32_t prefix = bits << (CodeFinder::kMaxBits - kBits);
    const int length = finder.length(prefix);
    entries[bits] = {};
    if (length == 0 || length > kBits) continue;
    const std::uint8_t num_bits = finder.symbol(prefix, length);
    entries[bits] = {static_cast<std::uint8_t>(length + num_bits), num_bits};
  }
  return true;
}

bool AcTable::build(const HuffmanCode& code) {
  const auto is_wide = [](std::uint8_t symbol) { return (symbol & 15) > kMaxValueBits; };
  if (!finder.build(code) || std::ranges::any_of(code.symbols, is_wide)) return false;
  for (std::uint32_t index = 0; index < steps.size(); ++index) set_entry(*this, index);
  for (std::uint32_t index = 0; index < skip_steps.size(); ++index) {
    skip_steps[index] = make_skip_step(finder, index);
  }
  return true;
}

}  // namespace paceline::data::jpeg
