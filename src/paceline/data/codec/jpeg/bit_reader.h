#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paceline::data::jpeg {

/// The bits of a byte sequence, the first ones on top. Eight bytes behind `next` must be readable.
///
/// A refill takes no branch: it loads eight bytes and lets those that are already held fall on
/// themselves. At least 56 bits are held then.
struct BitReader {
  const std::uint8_t* next = nullptr;
  std::uint64_t bits = 0;
  /// How many bits are missing to 63; up to 7 after a refill.
  std::uint32_t missing = 63;

  void refill() {
    std::uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    bits |= __builtin_bswap64(bytes) >> (~missing & 63);
    next += missing / 8;
    missing %= 8;
  }

  void start(const std::uint8_t* bytes, int skipped_bits) {
    *this = {.next = bytes};
    refill();
    drop(skipped_bits);
    refill();
  }
  void drop(int number) {
    bits <<= number;
    missing += static_cast<std::uint32_t>(number);
  }
  /// The first `number` bits, at least one.
  std::uint32_t peek(int number) const { return static_cast<std::uint32_t>(bits >> (64 - number)); }

  /// The bits used since `begin`, where start() was.
  std::int64_t used_since(const std::uint8_t* begin) const {
    return (next - begin) * 8 + missing - 63;
  }
};

}  // namespace paceline::data::jpeg
