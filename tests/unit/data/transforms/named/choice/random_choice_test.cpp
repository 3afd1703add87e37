#include "paceline/data/transforms/named/choice/random_choice.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/color/random_invert.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<TransformConfig> three_steps() {
  return {RandomHorizontalFlipConfig{.p = 1}, RandomVerticalFlipConfig{.p = 1},
          RandomInvertConfig{.p = 1}};
}

std::array<int, 3> counts_of(const TransformConfig& choice, int draws) {
  std::array<int, 3> counts = {};
  for (int position = 0; position < draws; ++position) {
    const Plan plan = plan_of(choice, {2, 2}, static_cast<std::uint64_t>(position));
    EXPECT_EQ(plan.size(), 1u);
    ++counts[std::holds_alternative<FlipStep>(plan[0])           ? 0
             : std::holds_alternative<VerticalFlipStep>(plan[0]) ? 1
                                                                 : 2];
  }
  return counts;
}

TEST(RandomChoice, TakesEachWithItsShare) {
  const auto equal = counts_of(TransformConfig(make(RandomChoiceConfig{}, three_steps())), 6000);
  for (const int count : equal) EXPECT_NEAR(count, 2000, 160);
  const auto shared =
      counts_of(TransformConfig(make(RandomChoiceConfig{.p = {3, 0, 1}}, three_steps())), 4000);
  EXPECT_NEAR(shared[0], 3000, 120);
  EXPECT_EQ(shared[1], 0);
}

TEST(RandomChoice, FixesTheSizeThatAllHave) {
  const auto crops = make(RandomChoiceConfig{}, {RandomResizedCropConfig{.size = 20},
                                                 RandomResizedCropConfig{.size = 20}});
  EXPECT_EQ(crops->fixed_size(std::nullopt), (ImageSize{20, 20}));
  const auto either = make(RandomChoiceConfig{},
                           {RandomResizedCropConfig{.size = 20}, RandomHorizontalFlipConfig{}});
  EXPECT_EQ(either->fixed_size(std::nullopt), std::nullopt);
  EXPECT_EQ(either->fixed_size(ImageSize{20, 20}), (ImageSize{20, 20}));
  EXPECT_EQ(either->fixed_size(ImageSize{30, 20}), std::nullopt);
}

TEST(RandomChoice, RefusesSharesThatDoNotFit) {
  EXPECT_THROW(make(RandomChoiceConfig{}, {})->check(), base::ConfigError);
  for (const std::vector<double>& shares :
       {std::vector<double>{1, 2}, std::vector<double>{0, 0, 0}}) {
    EXPECT_THROW(make(RandomChoiceConfig{.p = shares}, three_steps())->check(), base::ConfigError);
  }
  EXPECT_NO_THROW(make(RandomChoiceConfig{.p = {1, 0, 2}}, three_steps())->check());
}

}  // namespace
}  // namespace paceline::data
