#include "paceline/loggers/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);    // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);  // the same
}

TEST(Crc32c, Masked) {
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u);
  EXPECT_EQ(masked_crc32c("\x1a\x11"
                          "CRC test, one two"),
            0x5794d08au);
}

TEST(Crc32c, SameForEveryLengthAndAlignmentAsByteByByte) {
  const auto by_bit = [](std::string_view bytes) {
    std::uint32_t crc = 0xffffffffu;
    for (const char byte : bytes) {
      crc ^= static_cast<unsigned char>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    }
    return ~crc;
  };
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t size = 0; size + begin <= text.size(); ++size) {
      const auto part = std::string_view(text).substr(begin, size);
      ASSERT_EQ(crc32c(part), by_bit(part)) << begin << " " << size;
    }
  }
}

}  // namespace
}  // namespace paceline::loggers
