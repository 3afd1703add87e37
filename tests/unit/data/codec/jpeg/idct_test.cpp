#include "paceline/data/codec/jpeg/idct.h"

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

/// The transform's definition in real numbers.
double exact_sample(const Block& block, const Quantisers& quantisers, int x, int y) {
  double sum = 0;
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      const auto at = static_cast<std::size_t>(8 * v + u);
      const double scale =
          (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1) / 4;
      sum += scale * block.values[at] * quantisers.values[at] *
             std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
             std::cos((2 * y + 1) * v * std::numbers::pi / 16);
    }
  }
  return std::clamp(sum + 128, 0.0, 255.0);
}

// That the bytes are libjpeg's is for baseline_decoder_test to show.
TEST(PlainIdct, IsTheInverseCosineTransform) {
  std::mt19937 random(2);
  for (int i = 0; i < 50; ++i) {
    Block block{};
    Quantisers quantisers;
    for (std::size_t j = 0; j < kBlockSize; ++j) {
      block.values[j] = static_cast<std::int16_t>(static_cast<int>(random() % 21) - 10);
      quantisers.values[j] = static_cast<std::int16_t>(1 + random() % 8);
    }
    std::uint8_t samples[kBlockSize];
    transform_block_scalar(block, quantisers, samples, kBlockSide);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        ASSERT_NEAR(samples[8 * y + x], exact_sample(block, quantisers, x, y), 0.6);
      }
    }
  }
}

}  // namespace
}  // namespace paceline::data::jpeg
