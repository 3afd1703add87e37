#include "paceline/nn/volume/xray_encoder.h"

#include "paceline/base/error.h"
#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

XrayEncoderConfig small_encoder() { return {.num_views = 2, .xray_size = 32, .dim = 64}; }

at::Tensor small_xrays(std::int64_t views = 2) {
  return at::arange(3 * views * 32 * 32, at::kFloat).mul(0.37).sin().view({3, views, 32, 32});
}

void fill_encoder(const XrayEncoder& encoder) {
  std::uint64_t index = 0;
  for (const NamedTensor& item : named_parameters(encoder)) {
    if (item.tensor.dim() > 1) tensor::fill_normal(item.tensor, 0, 0.2, {.index = index});
    ++index;
  }
}

TEST(XrayEncoder, GivesFeaturesAndTokensOfEachView) {
  XrayEncoderConfig config = small_encoder();
  const XrayEncoder encoder(config);
  fill_encoder(encoder);
  const auto features = encoder.forward(small_xrays());
  ASSERT_EQ(features.size(), 2U);
  EXPECT_EQ(features[0].sizes(), (std::vector<std::int64_t>{3, 64, 4, 4}));
  EXPECT_EQ(encoder.num_tokens(), 32);
  EXPECT_EQ(encoder.tokens(features).sizes(), (std::vector<std::int64_t>{96, 64}));
  EXPECT_EQ(XrayEncoder::pooled(features).sizes(), (std::vector<std::int64_t>{3, 128}));
  config.token_pool = 2;
  EXPECT_EQ(XrayEncoder(config).num_tokens(), 8);
}

TEST(XrayEncoder, ViewsAreToldApart) {
  XrayEncoderConfig config = small_encoder();
  for (const bool share : {false, true}) {
    config.share_view_weights = share;
    const XrayEncoder encoder(config);
    fill_encoder(encoder);
    const at::Tensor xrays = small_xrays();
    const at::Tensor tokens = encoder.tokens(encoder.forward(xrays));
    const auto swapped = encoder.forward(xrays.flip(1));
    EXPECT_FALSE(tokens.allclose(encoder.tokens(swapped).view({3, 2, 16, 64}).flip(1).flatten(0, 2),
                                 1e-3, 1e-3));
    EXPECT_FALSE(XrayEncoder::pooled(encoder.forward(xrays))
                     .allclose(XrayEncoder::pooled(swapped), 1e-3, 1e-3));
  }
}

TEST(XrayEncoder, SharedWeightsAreOneTower) {
  XrayEncoderConfig config = small_encoder();
  const auto num_towers = [&] {
    const XrayEncoder encoder(config);
    std::int64_t found = 0;
    for (const NamedUnit& unit : units(encoder)) found += unit.name.starts_with("towers.") ? 1 : 0;
    return found;
  };
  EXPECT_EQ(num_towers(), 2);
  config.share_view_weights = true;
  EXPECT_EQ(num_towers(), 1);
  const XrayEncoder encoder(config);
  fill_encoder(encoder);
  const at::Tensor same = small_xrays().slice(1, 0, 1).expand({-1, 2, -1, -1});
  const auto features = encoder.forward(same);
  EXPECT_TRUE(at::equal(features[0], features[1]));
}

TEST(XrayEncoder, CountsEachView) {
  LayerCosts costs;
  XrayEncoder(small_encoder()).count(costs);
  // Convolutions 7x7 from 1 to 8 channels at 16x16, 3x3 to 16 at 8x8 and 3x3 to 64 at 4x4.
  EXPECT_EQ(costs.flops(), 2 * 2 * (256.0 * 49 * 8 + 64.0 * 9 * 8 * 16 + 16.0 * 9 * 16 * 64));
}

TEST(XrayEncoder, RefusesOtherSizes) {
  const XrayEncoder encoder(small_encoder());
  EXPECT_THROW(encoder.forward(at::zeros({1, 1, 32, 32})), base::InternalError);
  EXPECT_THROW(encoder.forward(at::zeros({1, 2, 32, 40})), base::InternalError);
}

}  // namespace
}  // namespace paceline::nn
