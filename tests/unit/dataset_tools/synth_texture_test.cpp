#include "paceline/dataset_tools/synth_texture.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

constexpr int kTextureSide = 32;

std::vector<double> texture_values(std::uint64_t index) {
  base::Philox draws(1, base::DrawPurpose::kTest, 0, index);
  const Texture texture(kTextureSide, draws);
  std::vector<double> values;
  for (int y = 0; y < kTextureSide; ++y)
    for (int x = 0; x < kTextureSide; ++x) values.push_back(texture.at(x, y));
  return values;
}

TEST(Texture, StaysWithinOne) {
  for (std::uint64_t index = 0; index < 100; ++index) {
    const std::vector<double> values = texture_values(index);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, -1);
    EXPECT_LE(*most, 1);
  }
}

TEST(Texture, VariesInEachAndIsItsOwn) {
  std::set<std::vector<double>> textures;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const std::vector<double> values = texture_values(index);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GT(*most - *least, 0.4) << index;
    textures.insert(values);
  }
  EXPECT_EQ(textures.size(), 100u);
}

// Of one pixel to the next: a texture is no noise.
TEST(Texture, IsSmooth) {
  double change = 0;
  double deviation = 0;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const std::vector<double> values = texture_values(index);
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (i % kTextureSide == 0) continue;
      change += std::abs(values[i] - values[i - 1]);
      deviation += std::abs(values[i]);
    }
  }
  EXPECT_LT(change, 0.7 * deviation);
}

// Stripes run as often one way as another, so no row or column is lighter on average.
TEST(Texture, HasNoDirectionOrLevelOnAverage) {
  constexpr int kTextures = 2000;
  double sum = 0;
  double along_rows = 0;
  double along_columns = 0;
  for (std::uint64_t index = 0; index < kTextures; ++index) {
    const std::vector<double> values = texture_values(index);
    for (std::size_t i = 0; i + kTextureSide < values.size(); ++i) {
      sum += values[i];
      along_rows += std::abs(values[i + 1] - values[i]);
      along_columns += std::abs(values[i + kTextureSide] - values[i]);
    }
  }
  EXPECT_NEAR(sum / (kTextures * 31.0 * kTextureSide), 0, 0.02);
  EXPECT_NEAR(along_rows / along_columns, 1, 0.1);
}

}  // namespace
}  // namespace paceline::dataset_tools
