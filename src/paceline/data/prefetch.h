#pragma once

#include <algorithm>
#include <cstdint>

namespace paceline::data {

/// Moves memory towards the processor without waiting for it; of large pieces the beginning, the
/// processor goes on by itself.
inline void prefetch_bytes(const std::uint8_t* bytes, std::int64_t size) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMost = 64 * kLine;
  for (std::int64_t at = 0; at < std::min(size, kMost); at += kLine) {
    __builtin_prefetch(bytes + at, /*write=*/0, /*second-level cache*/ 2);
  }
}

}  // namespace paceline::data
