#pragma once

#include "paceline/data/codec/jpeg/header.h"

#include <array>
#include <cstdint>
#include <memory>

namespace paceline::data::jpeg {

/// Finds codes of any length, a bit slowly.
struct CodeFinder {
  static constexpr int kMaxBits = 16;
  /// A code of this many bits is below limits[bits], which has kMaxBits bits.
  std::array<std::uint32_t, kMaxBits + 1> limits{};
  /// What to add to a code of this many bits for its place in `symbols`.
  std::array<std::uint32_t, kMaxBits + 1> offsets{};
  std::array<std::uint8_t, 256> symbols{};

  /// False if libjpeg refuses the code.
  bool build(const HuffmanCode& code);
  /// The number of bits of the code at the front of 16 bits; 0 if there is none.
  int length(std::uint32_t prefix) const {
    for (std::size_t bits = 1; bits <= kMaxBits; ++bits) {
      if (prefix < limits[bits]) return static_cast<int>(bits);
    }
    return 0;
  }
  std::uint8_t symbol(std::uint32_t prefix, int length) const {
    // Modulo 2^32, as offsets may be negative.
    return symbols[(prefix >> (kMaxBits - length)) + offsets[static_cast<std::size_t>(length)]];
  }
};

/// The first coefficients of blocks: symbols are the number of bits that follow.
struct DcTable {
  static constexpr int kBits = 9;
  /// Of samples with 8 bits; decoding relies on it.
  static constexpr int kMaxValueBits = 11;
  struct Entry {
    std::uint8_t length = 0;  ///< of the code and the bits behind it; 0: look it up in `finder`
    std::uint8_t num_bits = 0;
  };
  CodeFinder finder;
  std::array<Entry, 1 << kBits> entries;

  /// False if libjpeg refuses the code, or values may have more bits than they should.
  bool build(const HuffmanCode& code);
};

/// How far decoding a block has come: the bits used (8 bits), and above them the place of the next
/// coefficient, so that one addition moves both.
namespace progress {
inline constexpr int kPlaceShift = 8;
inline constexpr std::uint32_t kPlace = 1 << kPlaceShift;
inline constexpr std::uint32_t kUsedMask = kPlace - 1;
inline constexpr std::uint32_t kBlockEnd = kBlockSize * kPlace;
/// What an end-of-block code adds.
inline constexpr std::uint32_t kEnded = 128 * kPlace;
/// Says that nothing was taken, because the code is longer than a table's index.
inline constexpr std::uint32_t kUnknown = 255 * kPlace;
}  // namespace progress

/// The other coefficients: symbols are a run of zeros and the number of bits that follow. An index
/// of the next bits finds several symbols if they fit.
struct AcTable {
  static constexpr int kBits = 11;
  /// Of samples with 8 bits; decoding relies on it.
  static constexpr int kMaxValueBits = 10;

  CodeFinder finder;

  // By index: one or two symbols; an only symbol is the last one. The last one's value may reach
  // beyond the index, so it is read from the data: its bits end where the step's bits end, and its
  // place is the one before the new place (where nothing is, if it is no value).
  std::array<std::uint16_t, 1 << kBits> steps;  ///< of progress
  std::array<std::uint8_t, 1 << kBits> last_num_bits;
  std::array<std::uint8_t, 1 << kBits> first_runs;  ///< zeros before the first value
  std::array<std::int8_t, 1 << kBits> first_values;
  /// As DcTable::build().
  bool build(const HuffmanCode& code);
};

/// A number of `num_bits` bits as JPEG codes it: those that start with 0 are negative.
inline int signed_value(std::uint32_t bits, int num_bits) {
  const bool is_negative = num_bits > 0 && (bits >> (num_bits - 1)) == 0;
  return static_cast<int>(bits) - (is_negative ? (1 << num_bits) - 1 : 0);
}

/// The tables of the codes last used: many files share the codes of the JPEG standard.
template <class Table>
class TableCache {
 public:
  /// Null if the table cannot be built. What the last kSlots calls returned stays valid.
  const Table* find(const HuffmanCode& code) {
    Slot* oldest = &slots_[0];
    for (Slot& slot : slots_) {
      if (slot.table && slot.code == code) return use(slot);
      if (slot.last_use < oldest->last_use) oldest = &slot;
    }
    if (!oldest->table) oldest->table = std::make_unique<Table>();
    oldest->code = code;
    oldest->is_legal = oldest->table->build(code);
    return use(*oldest);
  }

 private:
  static constexpr std::size_t kSlots = 6;
  struct Slot {
    HuffmanCode code;
    std::unique_ptr<Table> table;
    std::uint64_t last_use = 0;
    bool is_legal = false;
  };

  const Table* use(Slot& slot) {
    slot.last_use = ++uses_;
    return slot.is_legal ? slot.table.get() : nullptr;
  }

  std::array<Slot, kSlots> slots_;
  std::uint64_t uses_ = 0;
};

}  // namespace paceline::data::jpeg
