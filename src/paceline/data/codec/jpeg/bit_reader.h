#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paceline::data::jpeg {

/// The bits of a byte sequence, the first ones on top. Eight bytes behind `next` must be readable.
///
/// A refill takes no branch: it loads eight bytes and lets those that are already held fall on
/// themselves. To keep the load off the chain of dependent steps, look_ahead() may come before the
/// bits are used and refill() after that.
struct BitReader {
  /// Held after a refill, at least.
  static constexpr int kHeld = 56;

  const std::uint8_t* next = nullptr;
  std::uint64_t bits = 0;
  /// How many bits are missing to 63; up to 7 after a refill.
  std::uint32_t missing = 63;

  std::uint64_t look_ahead() const {
    std::uint64_t bytes;
    std::memcpy(&bytes, next, sizeof(bytes));
    return __builtin_bswap64(bytes);
  }
  void refill(std::uint64_t ahead) {
    bits |= ahead >> (~missing & 63);
    next += missing / 8;
    missing %= 8;
  }
  void refill() { refill(look_ahead()); }

  void start(const std::uint8_t* bytes, int skipped_bits) {
    *this = {.next = bytes};
    refill();
    drop(skipped_bits);
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
