#include "paceline/data/transforms/kernels/mixture.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Mixture, SumsSharesAndCutsOff) {
  const PaddedImage first(std::vector<std::uint8_t>(3 * 2 * 5, 101), {2, 5});
  const PaddedImage second(std::vector<std::uint8_t>(3 * 2 * 5, 30), {2, 5});
  Mixture mixture;
  for (int repetition = 0; repetition < 2; ++repetition) {
    mixture.begin({2, 5});
    mixture.add(first.view, 0.5f);
    mixture.add(second.view, 0.25f);
    std::vector<std::uint8_t> bytes(2 * 64 + PixelBuffer::kPadding, 0);
    mixture.write(bytes.data(), 64);
    for (const int y : {0, 1})
      for (int i = 0; i < 15; ++i) EXPECT_EQ(bytes[static_cast<std::size_t>(64 * y + i)], 58);
  }
}

TEST(Mixture, BlendsWithTheCutOffSums) {
  const PaddedImage image(std::vector<std::uint8_t>(3 * 2 * 5, 101), {2, 5});
  const PaddedImage other(std::vector<std::uint8_t>(3 * 2 * 5, 31), {2, 5});
  Mixture mixture;
  mixture.begin({2, 5});
  mixture.add(other.view, 0.5f);  // 15.5, cut off to 15
  mixture.blend(image.view, 0.25f);
  std::vector<std::uint8_t> bytes(2 * 64 + PixelBuffer::kPadding, 0);
  mixture.write(bytes.data(), 64);
  for (const int y : {0, 1})
    for (int i = 0; i < 15; ++i) EXPECT_EQ(bytes[static_cast<std::size_t>(64 * y + i)], 79);
}

TEST(Mixture, ScalesItsSums) {
  const PaddedImage image(std::vector<std::uint8_t>(3 * 2 * 5, 100), {2, 5});
  Mixture mixture;
  mixture.begin({2, 5});
  mixture.add(image.view, 0.5f);
  mixture.scale(0.25f);
  mixture.add(image.view, 0.75f);
  std::vector<std::uint8_t> bytes(2 * 64 + PixelBuffer::kPadding, 0);
  mixture.write(bytes.data(), 64);
  for (const int y : {0, 1})
    for (int i = 0; i < 15; ++i) EXPECT_EQ(bytes[static_cast<std::size_t>(64 * y + i)], 87);
}

}  // namespace
}  // namespace paceline::data
