#include "paceline/tensor/normal_blocks.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

const base::Philox kStream(11, base::DrawPurpose::kTest, 3, 5);

double unit(std::uint32_t word) { return static_cast<double>(word >> 8) * 0x1.0p-24; }

TEST(NormalBlocks, UniformIsTheWordOfTheBlock) {
  std::array<float, kDrawChunk> values;
  uniform_chunk(kStream, 2, values.data());
  for (std::size_t i = 0; i < kDrawChunk; ++i) {
    const auto block = kStream.block(static_cast<std::uint32_t>((2 * kDrawChunk + i) / 4));
    ASSERT_EQ(values[i], static_cast<float>(unit(block[i % 4])));
  }
}

TEST(NormalBlocks, NormalEqualsBoxAndMullerByLibm) {
  std::array<float, kDrawChunk> values;
  for (std::uint32_t chunk = 0; chunk < 20; ++chunk) {
    normal_chunk(kStream, chunk, values.data());
    for (std::size_t i = 0; i < kDrawChunk; i += 2) {
      const auto block = kStream.block(static_cast<std::uint32_t>((chunk * kDrawChunk + i) / 4));
      const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(block[i % 4])));
      const double angle = 2.0 * std::numbers::pi * unit(block[i % 4 + 1]);
      ASSERT_NEAR(values[i], radius * std::cos(angle), 1e-6);
      ASSERT_NEAR(values[i + 1], radius * std::sin(angle), 1e-6);
    }
  }
}

TEST(NormalBlocks, NormalHasTheMomentsOfANormal) {
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  constexpr std::uint32_t kChunks = 1000;
  std::array<float, kDrawChunk> values;
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    normal_chunk(kStream, chunk, values.data());
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
      fourths += std::pow(static_cast<double>(value), 4);
    }
  }
  const double count = kChunks * static_cast<double>(kDrawChunk);
  EXPECT_NEAR(sum / count, 0.0, 0.004);
  EXPECT_NEAR(squares / count, 1.0, 0.006);
  EXPECT_NEAR(fourths / count, 3.0, 0.05);
}

}  // namespace
}  // namespace paceline::tensor
