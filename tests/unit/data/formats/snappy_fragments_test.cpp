#include "paceline/data/formats/snappy_fragments.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using Compressed = std::vector<std::uint8_t>;

Compressed operator+(Compressed a, const Compressed& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Compressed head_of(std::uint32_t size) {
  std::array<std::uint8_t, 5> bytes{};
  return {bytes.begin(), bytes.begin() + static_cast<long>(write_snappy_size(size, bytes.data()))};
}

/// A literal of `size` bytes, its length in two bytes.
Compressed literal(std::size_t size) {
  Compressed bytes = {61 << 2, static_cast<std::uint8_t>(size - 1),
                      static_cast<std::uint8_t>((size - 1) >> 8)};
  bytes.resize(3 + size, 'x');
  return bytes;
}

/// A copy of `size` <= 64 bytes from `distance` bytes before.
Compressed copy(std::size_t size, std::size_t distance) {
  return {static_cast<std::uint8_t>((size - 1) << 2 | 2), static_cast<std::uint8_t>(distance),
          static_cast<std::uint8_t>(distance >> 8)};
}

TEST(SnappyFragments, WritesSizesAsSnappyDoes) {
  EXPECT_THAT(head_of(0), ElementsAre(0));
  EXPECT_THAT(head_of(127), ElementsAre(127));
  EXPECT_THAT(head_of(64), ElementsAre(64));
  EXPECT_THAT(head_of(2097150), ElementsAre(0xFE, 0xFF, 0x7F));  // the format's own example
  EXPECT_THAT(head_of(0xFFFFFFFF), ElementsAre(0xFF, 0xFF, 0xFF, 0xFF, 0x0F));
}

TEST(SnappyFragments, BeginEvery64KiB) {
  EXPECT_THAT(list_snappy_fragments(head_of(0), 0), Optional(ElementsAre(1u)));
  const Compressed small = head_of(12) +
                           Compressed{4 << 2,       'a', 'b', 'c', 'd', 'e',  // 5 bytes
                                      (3 << 2) | 1, 5} +                      // 7, 5 back
                           Compressed{};
  EXPECT_THAT(list_snappy_fragments(small, 12), Optional(ElementsAre(1u, 9u)));
  const Compressed large =
      head_of(140'000) + literal(65'500) + copy(36, 65'500) + literal(65'536) + literal(8'928);
  EXPECT_THAT(list_snappy_fragments(large, 140'000),
              Optional(ElementsAre(3u, 3u + 65'503 + 3, 3u + 65'503 + 3 + 65'539,
                                   3u + 65'503 + 3 + 65'539 + 8'931)));
}

TEST(SnappyFragments, AreNotThereIfWhatIsCopiedLiesInAnother) {
  EXPECT_EQ(list_snappy_fragments(head_of(65'546) + literal(65'536) + copy(10, 1), 65'546),
            std::nullopt);
  EXPECT_EQ(list_snappy_fragments(head_of(65'546) + literal(60'000) + literal(5'546), 65'546),
            std::nullopt);
}

TEST(SnappyFragments, AreNotThereInDamagedBytes) {
  const Compressed sound = head_of(120) + literal(100) + copy(20, 50);
  ASSERT_THAT(list_snappy_fragments(sound, 120), Optional(ElementsAre(1u, 107u)));
  EXPECT_EQ(list_snappy_fragments(sound, 121), std::nullopt);
  for (std::size_t size = 0; size < sound.size(); ++size)
    EXPECT_EQ(list_snappy_fragments({sound.data(), size}, 120), std::nullopt) << size;
  EXPECT_EQ(list_snappy_fragments(head_of(20) + copy(20, 0), 20), std::nullopt);
  EXPECT_EQ(list_snappy_fragments(head_of(21) + literal(1) + copy(20, 2), 21), std::nullopt);
  EXPECT_EQ(list_snappy_fragments({{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}}, 0), std::nullopt);
}

}  // namespace
}  // namespace paceline::data
