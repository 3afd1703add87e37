#include "paceline/base/hash.h"

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(Hash, EqualsThePublishedValuesOfNothing) {
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2ull);
  EXPECT_EQ(xxh3_128_hex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, PiecesHashAsTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  Xxh3Stream stream;
  for (std::size_t begin = 0; begin < text.size(); begin += 777) {
    stream.update(std::string_view(text).substr(begin, 777));
  }
  EXPECT_EQ(stream.digest(), xxh3(text));
  stream.update("more");
  EXPECT_EQ(stream.digest(), xxh3(text + "more"));
  const Xxh3Stream moved = std::move(stream);
  EXPECT_EQ(moved.digest(), xxh3(text + "more"));
  EXPECT_EQ(Xxh3Stream().digest(), xxh3(""));
}

TEST(Hash, OneBitMakesAnotherHash) {
  EXPECT_NE(xxh3("a"), xxh3("b"));
  EXPECT_NE(xxh3_128_hex("a"), xxh3_128_hex("b"));
}

}  // namespace
}  // namespace paceline::base
