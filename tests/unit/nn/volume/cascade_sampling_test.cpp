#include "paceline/nn/volume/cascade_sampling.h"

#include "unit/nn/volume/scaled_cascade.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

const NoiseSchedule kSchedule(1000);

at::Tensor some_xrays() { return at::linspace(-1, 1, 2 * 2 * 4 * 4).view({2, 2, 4, 4}) * 0.1; }

TEST(CascadeSampling, EachStageStandsOnWhatTheOneBeforeMade) {
  const ScaledCascade cascade({4, 8});
  const auto contexts = encode_for_cascade(cascade, some_xrays());
  EXPECT_EQ(cascade.num_encoded, 2);
  const auto volumes = sample_cascade(cascade, contexts, kSchedule, {.steps = 3}, {5, 0, 0});
  EXPECT_EQ(cascade.num_encoded, 2) << "once for all steps";
  EXPECT_EQ(cascade.seen_steps, (std::vector<std::int64_t>{999, 666, 332, 999, 666, 332}));
  ASSERT_EQ(volumes.size(), 2U);
  EXPECT_EQ(volumes[1].sizes(), (std::vector<std::int64_t>{2, 8, 8, 8}));
  EXPECT_FALSE(volumes[1].requires_grad());
  const ScaledCascade other({4, 8}, 0.4);
  const auto different = sample_cascade(other, encode_for_cascade(other, some_xrays()), kSchedule,
                                        {.steps = 3}, {5, 0, 0});
  EXPECT_FALSE(at::equal(volumes[1], different[1]));
}

TEST(CascadeSampling, DrawsAreAFunctionOfPositionAndSample) {
  const ScaledCascade cascade({4, 8});
  const CascadeSampling sampling{.steps = 2, .level = 0.1};
  const auto of = [&](const at::Tensor& xrays, const CascadeDraw& draw) {
    return sample_cascade(cascade, encode_for_cascade(cascade, xrays), kSchedule, sampling, draw)
        .back();
  };
  const at::Tensor both = of(some_xrays(), {5, 10, 0});
  EXPECT_TRUE(at::equal(both.slice(0, 1), of(some_xrays().slice(0, 1), {5, 11, 0})));
  EXPECT_FALSE(at::equal(both, of(some_xrays(), {5, 10, 1})));
  EXPECT_FALSE(at::equal(both, of(some_xrays(), {6, 10, 0})));
}

TEST(CascadeSampling, AnEarlierStageDrawsTheSameWithoutTheLaterOne) {
  const ScaledCascade one({4});
  const ScaledCascade two({4, 8});
  const CascadeDraw draw{5, 3, 1};
  EXPECT_TRUE(at::equal(
      sample_cascade(one, encode_for_cascade(one, some_xrays()), kSchedule, {.steps = 3}, draw)[0],
      sample_cascade(two, encode_for_cascade(two, some_xrays()), kSchedule, {.steps = 3},
                     draw)[0]));
}

}  // namespace
}  // namespace paceline::nn
