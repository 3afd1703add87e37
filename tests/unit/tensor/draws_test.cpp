#include "paceline/tensor/draws.h"

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(Draws, DependOnTheKeyAloneAndNotOnStrides) {
  const at::Tensor plain = at::empty({4, 3, 5, 5});
  const at::Tensor channels_last =
      at::empty({4, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  fill_normal(plain, 0, 1, {.seed = 3, .index = 9});
  fill_normal(channels_last, 0, 1, {.seed = 3, .index = 9});
  EXPECT_TRUE(at::equal(plain, channels_last));
  fill_normal(channels_last, 0, 1, {.seed = 3, .index = 10});
  EXPECT_FALSE(at::equal(plain, channels_last));
}

TEST(Draws, TruncatedNormalStaysInside) {
  const at::Tensor values = at::empty({1000});
  fill_truncated_normal(values, 0, 1, -0.5, 0.5, {.seed = 1});
  EXPECT_LE(values.abs().max().item<double>(), 0.5);
  EXPECT_GT(values.std().item<double>(), 0.2);
}

TEST(Draws, AnyNumberOfThreadsDrawsTheSame) {
  const int before = at::get_num_threads();
  const auto draw = [](int num_threads) {
    at::set_num_threads(num_threads);
    std::vector<at::Tensor> drawn;
    for (const std::int64_t count : {10, 70'000, 300'001}) {
      drawn.push_back(at::empty({count}));
      fill_uniform(drawn.back(), -1, 2, {.seed = 3, .index = 1});
      drawn.push_back(at::empty({count}));
      fill_normal(drawn.back(), 1, 2, {.seed = 3, .index = 2});
      drawn.push_back(at::empty({count}, at::kDouble));
      fill_truncated_normal(drawn.back(), 0, 1, -0.5, 0.5, {.seed = 3, .index = 3});
    }
    return at::cat(drawn);
  };
  const at::Tensor alone = draw(1);
  const at::Tensor together = draw(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(alone, together));
  EXPECT_FALSE(alone.isnan().any().item<bool>());
}

TEST(Draws, KeepMaskFollowsTheGlobalPosition) {
  const at::Tensor like = at::empty({4, 100});
  const DrawKey key{.seed = 5, .purpose = base::DrawPurpose::kDropout, .group = 2, .index = 1};
  const at::Tensor whole = keep_mask(like, 0.7, key, 10);
  const at::Tensor half = keep_mask(like.narrow(0, 0, 2), 0.7, key, 12);
  EXPECT_TRUE(at::equal(whole.narrow(0, 2, 2), half));
  EXPECT_NEAR(whole.mean().item<double>(), 0.7, 0.1);
}

}  // namespace
}  // namespace paceline::tensor
