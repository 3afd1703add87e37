#include "paceline/loggers/crc32c.h"

#include <cstring>

#include <nmmintrin.h>

namespace paceline::loggers {

// x86-64-v3, the floor, has the instruction.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint64_t crc = 0xffffffffu;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    crc = _mm_crc32_u64(crc, word);
    bytes.remove_prefix(8);
  }
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (const char byte : bytes) crc32 = _mm_crc32_u8(crc32, static_cast<unsigned char>(byte));
  return ~crc32;
}

}  // namespace paceline::loggers
