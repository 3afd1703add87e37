#include "paceline/nn/volume/conditioning_augmentation.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor condition_volumes(std::int64_t count) {
  return at::arange(count * 1000, at::kFloat).mul(0.01).cos().view({count, 10, 10, 10});
}

TEST(ConditioningAugmentation, IsTheSameInAnyMicrobatches) {
  const at::Tensor volumes = condition_volumes(4);
  const NoisyCondition whole = augment_condition(volumes, 0.5, {3, 11, 40});
  const NoisyCondition tail = augment_condition(volumes.slice(0, 3), 0.5, {3, 11, 43});
  EXPECT_TRUE(at::equal(whole.volumes.slice(0, 3), tail.volumes));
  EXPECT_TRUE(at::equal(whole.levels.slice(0, 3), tail.levels));
  EXPECT_FALSE(at::equal(whole.volumes, augment_condition(volumes, 0.5, {3, 12, 40}).volumes));
}

TEST(ConditioningAugmentation, NoiseIsAsStrongAsItsLevelSays) {
  const at::Tensor volumes = condition_volumes(6);
  const NoisyCondition drawn = augment_condition(volumes, 0.5, {3, 11, 40});
  EXPECT_EQ(drawn.levels.scalar_type(), at::kDouble);
  EXPECT_LE(drawn.levels.max().item<double>(), 0.5);
  EXPECT_GT((drawn.levels.max() - drawn.levels.min()).item<double>(), 0.1);
  const at::Tensor deviations = (drawn.volumes - volumes).flatten(1).std(1).to(at::kDouble);
  EXPECT_TRUE(deviations.allclose(drawn.levels, 0.1, 0));
  EXPECT_TRUE((drawn.volumes - volumes).flatten(1).mean(1).abs().max().item<double>() < 0.05);
}

TEST(ConditioningAugmentation, SamplesHaveTheLevelThatIsAskedFor) {
  const at::Tensor volumes = condition_volumes(2);
  const NoisyCondition none = condition_at_level(volumes, 0, {3, 11, 40});
  EXPECT_TRUE(at::equal(none.volumes, volumes));
  const NoisyCondition some = condition_at_level(volumes, 0.2, {3, 11, 40});
  EXPECT_TRUE(at::equal(some.levels, at::full({2}, 0.2, at::kDouble)));
  EXPECT_NEAR((some.volumes - volumes).std().item<double>(), 0.2, 0.02);
  const NoisyCondition other = condition_at_level(volumes, 0.2, {3, 11, 40}, 1);
  EXPECT_FALSE(some.volumes.allclose(other.volumes, 1e-2, 1e-2));
}

}  // namespace
}  // namespace paceline::nn
