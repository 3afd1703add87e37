#include "paceline/data/codec/jpeg/huffman_table.h"

#include <algorithm>

namespace paceline::data::jpeg {
namespace {

/// A symbol at the front of an index.
struct Symbol {
  std::uint8_t code_length = 0;  ///< 0: its code does not end within the index
  std::uint8_t run = 0;
  std::uint8_t num_bits = 0;

  bool is_end() const { return num_bits == 0 && run != 15; }
  int length() const { return code_length + num_bits; }
  std::uint32_t step() const {
    const auto places =
        is_end() ? progress::kEnded : static_cast<std::uint32_t>(run + 1) * progress::kPlace;
    return places + static_cast<std::uint32_t>(length());
  }
};

/// The symbols of all indices of kBits bits. Codes follow each other, so each fills the indices
/// behind those of the code before.
template <int kBits>
std::array<Symbol, 1 << kBits> list_symbols(const HuffmanCode& code) {
  std::array<Symbol, 1 << kBits> symbols{};
  auto next = symbols.begin();
  auto value = code.symbols.begin();
  for (int bits = 1; bits <= kBits; ++bits) {
    for (int i = 0; i < code.counts[static_cast<std::size_t>(bits - 1)]; ++i, ++value) {
      const Symbol symbol = {static_cast<std::uint8_t>(bits),
                             static_cast<std::uint8_t>(*value >> 4),
                             static_cast<std::uint8_t>(*value & 15)};
      next = std::fill_n(next, 1 << (kBits - bits), symbol);
    }
  }
  return symbols;
}

using AcSymbols = std::array<Symbol, 1 << AcTable::kBits>;

/// Sets what an index of the table finds.
void set_entry(AcTable& table, const AcSymbols& symbols, std::size_t index) {
  constexpr int kMaxFirstBits = 7;
  const Symbol first = symbols[index];
  const bool is_known = first.code_length > 0;
  table.steps[index] = static_cast<std::uint16_t>(is_known ? first.step() : progress::kUnknown);
  table.last_num_bits[index] = first.num_bits;
  table.first_runs[index] = first.run;
  table.first_values[index] = 0;
  const int left = AcTable::kBits - first.length();
  if (!is_known || first.is_end() || left <= 0 || first.num_bits > kMaxFirstBits) return;
  const Symbol last = symbols[(index << first.length()) % symbols.size()];
  if (last.code_length == 0 || last.code_length > left) return;
  const std::uint32_t value =
      static_cast<std::uint32_t>(index >> left) & ((1U << first.num_bits) - 1);
  table.steps[index] = static_cast<std::uint16_t>(first.step() + last.step());
  table.last_num_bits[index] = last.num_bits;
  table.first_values[index] = static_cast<std::int8_t>(signed_value(value, first.num_bits));
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
  std::ranges::transform(list_symbols<kBits>(code), entries.begin(), [](const Symbol& symbol) {
    const int length = symbol.code_length > 0 ? symbol.length() : 0;
    return Entry{static_cast<std::uint8_t>(length), symbol.num_bits};
  });
  return true;
}

bool AcTable::build(const HuffmanCode& code) {
  const auto is_wide = [](std::uint8_t symbol) { return (symbol & 15) > kMaxValueBits; };
  if (!finder.build(code) || std::ranges::any_of(code.symbols, is_wide)) return false;
  const AcSymbols symbols = list_symbols<kBits>(code);
  for (std::size_t index = 0; index < steps.size(); ++index) set_entry(*this, symbols, index);
  return true;
}

}  // namespace paceline::data::jpeg
