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
  std::array<std::int32_t, kMaxBits + 1> offsets{};
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
    const auto code = static_cast<std::int32_t>(prefix >> (kMaxBits - length));
    return symbols[static_cast<std::size_t>(code + offsets[static_cast<std::size_t>(length)])];
  }
};

/// The first coefficients of blocks: symbols are the number of bits that follow.
struct DcTable {
  static constexpr int kBits = 10;
  struct Entry {
    std::uint8_t length = 0;  ///< of the code and the bits behind it; 0: look it up in `finder`
    std::uint8_t code_length = 0;
    std::uint8_t num_bits = 0;
  };
  CodeFinder finder;
  std::array<Entry, 1 << kBits> entries;

  bool build(const HuffmanCode& code);
};

/// The other coefficients: symbols are a run of zeros and the number of bits that follow. Each
/// entry takes several symbols if they fit.
///
/// Places in a block are counted by `advance`: 64 is its end. An end-of-block code adds kEnded, and
/// kUnknown means that nothing was taken because the code is longer than the table's index.
struct AcTable {
  static constexpr int kBits = 11;
  static constexpr int kSkipBits = 12;
  static constexpr int kEnded = 128;
  static constexpr int kUnknown = 255;

  /// One or two symbols. The bits of the last one may reach beyond the index, so its value is read
  /// from the data; an only symbol is the last one.
  struct Entry {
    std::uint8_t length = 0;    ///< of all, in bits
    std::uint8_t advance = 0;   ///< places taken
    std::uint8_t first = 0;     ///< the first value's place, from the current one
    std::uint8_t last = 0;      ///< the last value's
    std::uint8_t last_bit = 0;  ///< where the last value's bits start
    std::uint8_t last_num_bits = 0;
    std::int16_t first_value = 0;
  };
  /// As many symbols as fit, when nobody wants the values.
  struct SkipEntry {
    std::uint8_t length = 0;
    std::uint8_t advance = 0;
  };

  CodeFinder finder;
  std::array<Entry, 1 << kBits> entries;
  std::array<SkipEntry, 1 << kSkipBits> skip_entries;

  bool build(const HuffmanCode& code);
};

/// A number of `num_bits` bits as JPEG codes it: those that start with 0 are negative.
inline int signed_value(std::uint32_t bits, int num_bits) {
  const bool is_negative = num_bits > 0 && (bits >> (num_bits - 1)) == 0;
  return static_cast<int>(bits) - (is_negative ? (1 << num_bits) - 1 : 0);
}

/// The tables of the codes last used: nearly all files share the codes of the JPEG standard.
template <class Table>
class TableCache {
 public:
  /// Null if libjpeg refuses the code. What the last kSlots calls returned stays valid.
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
