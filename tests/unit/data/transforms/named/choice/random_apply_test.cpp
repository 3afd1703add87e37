#include "paceline/data/transforms/named/choice/random_apply.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/color/random_invert.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomApply, AppliesAllOrNone) {
  const TransformConfig both(make(RandomApplyConfig{.p = 0.3}, {RandomHorizontalFlipConfig{.p = 1},
                                                                RandomInvertConfig{.p = 1}}));
  int applied = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    const Plan plan = plan_of(both, {2, 2}, position);
    if (plan.empty()) continue;
    ASSERT_EQ(plan.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<FlipStep>(plan[0]));
    EXPECT_TRUE(std::holds_alternative<InvertStep>(plan[1]));
    ++applied;
  }
  EXPECT_NEAR(applied, 1200, 120);
}

TEST(RandomApply, FixesASizeOnlyIfItIsAlwaysApplied) {
  const auto with_p = [](double p) {
    return make(RandomApplyConfig{.p = p}, {RandomResizedCropConfig{.size = 20}});
  };
  EXPECT_EQ(with_p(0.5)->fixed_size(std::nullopt), std::nullopt);
  EXPECT_EQ(with_p(0.5)->fixed_size(ImageSize{20, 20}), (ImageSize{20, 20}));
  EXPECT_EQ(with_p(1)->fixed_size(std::nullopt), (ImageSize{20, 20}));
}

TEST(RandomApply, ChecksWhatIsInIt) {
  EXPECT_THROW(make(RandomApplyConfig{.p = 2}, {RandomInvertConfig{}})->check(), base::ConfigError);
  EXPECT_THROW(make(RandomApplyConfig{}, {RandomInvertConfig{.p = 2}})->check(), base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
