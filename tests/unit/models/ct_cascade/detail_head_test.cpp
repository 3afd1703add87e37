#include "paceline/models/ct_cascade/detail_head.h"

#include "unit/models/ct_cascade/block_inputs.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

constexpr std::int64_t kDetailChannels = 3;
constexpr std::int64_t kDetailDim = 12;
constexpr std::int64_t kDetailPatch = 4;

struct DetailInputs {
  at::Tensor channels = denoiser_numbers({2, kDetailChannels, 8, 8, 8}, 0);
  at::Tensor rows = denoiser_numbers({16, kDetailDim}, 1);
};

std::shared_ptr<DetailHead> filled_head() {
  auto head = std::make_shared<DetailHead>(kDetailChannels, kDetailDim, kDetailPatch);
  fill_denoiser(*head);
  return head;
}

TEST(DetailHead, ATokenSteersItsPatchAlone) {
  const auto head = filled_head();
  DetailInputs inputs;
  const at::Tensor before = head->forward(inputs.channels, inputs.rows);
  EXPECT_EQ(before.sizes(), (std::vector<std::int64_t>{2, 8, 8, 8}));
  inputs.rows.select(0, 8 + 1).add_(1.0);  // of the second volume: z and y first half, x second
  const at::Tensor changed = (head->forward(inputs.channels, inputs.rows) - before).abs().gt(1e-9);
  EXPECT_FALSE(changed[0].any().item<bool>());
  at::Tensor expected = at::zeros({8, 8, 8}, at::kBool);
  // And one voxel further, which the second convolution sees.
  expected.slice(0, 0, 5).slice(1, 0, 5).slice(2, 3, 8).fill_(true);
  EXPECT_TRUE(at::equal(changed[1], expected));
}

TEST(DetailHead, AVoxelReachesTwoFurther) {
  const auto head = filled_head();
  DetailInputs inputs;
  const at::Tensor before = head->forward(inputs.channels, inputs.rows);
  inputs.channels[0][2][3][4][0] += 1.0;
  const at::Tensor changed = (head->forward(inputs.channels, inputs.rows) - before).abs().gt(1e-12);
  at::Tensor expected = at::zeros({2, 8, 8, 8}, at::kBool);
  expected[0].slice(0, 1, 6).slice(1, 2, 7).slice(2, 0, 3).fill_(true);
  EXPECT_TRUE(at::equal(changed, expected));
}

TEST(DetailHead, AddsNothingAfterZeros) {
  const auto head = filled_head();
  for (const nn::NamedTensor& item : nn::named_parameters(*head)) {
    const at::NoGradGuard no_grad;
    if (item.name.starts_with("conv2")) item.tensor.zero_();
  }
  const DetailInputs inputs;
  EXPECT_EQ(head->forward(inputs.channels, inputs.rows).abs().max().item<double>(), 0);
}

TEST(DetailHead, CountsItsLayers) {
  nn::LayerCosts costs;
  DetailHead(kDetailChannels, kDetailDim, kDetailPatch).count(8, costs);
  ASSERT_EQ(costs.layers().size(), 3U);
  EXPECT_EQ(costs.flops(), 2.0 * (27 * 3 * 16 * 512 + 12 * 32 * 8 + 27 * 16 * 512));
}

}  // namespace
}  // namespace paceline::models
