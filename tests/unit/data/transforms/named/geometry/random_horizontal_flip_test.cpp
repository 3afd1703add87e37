#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/pipeline.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomHorizontalFlip, FlipsWithItsProbability) {
  int flips = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    flips +=
        static_cast<int>(plan_of(RandomHorizontalFlipConfig{.p = 0.3}, {2, 2}, position).size());
  }
  EXPECT_NEAR(flips, 1200, 100);
  EXPECT_TRUE(plan_of(RandomHorizontalFlipConfig{.p = 0.0}, {2, 2}, 0).empty());
  EXPECT_EQ(plan_of(RandomHorizontalFlipConfig{.p = 1.0}, {2, 2}, 0).size(), 1u);
}

/// How often each of `count` samples is mirrored in the first so many epochs.
std::vector<int> mirrored(const RandomHorizontalFlipConfig& config, std::uint64_t epochs,
                          std::size_t count) {
  const TransformPipeline pipeline({config, CenterCropConfig{.size = config::Sides(2)}});
  std::vector<int> times(count);
  Plan plan;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t sample = 0; sample < count; ++sample) {
      // The order of samples changes from epoch to epoch.
      const DrawKey key{
          .seed = 7, .epoch = epoch, .position = (sample + 3 * epoch) % count, .sample = sample};
      pipeline.draw(key, {2, 2}, plan);
      times[sample] += static_cast<int>(std::holds_alternative<FlipStep>(plan.front()));
    }
  }
  return times;
}

TEST(RandomHorizontalFlip, AlternatesFromEpochToEpochForEachSample) {
  constexpr std::size_t kSamples = 1000;
  const RandomHorizontalFlipConfig config{.p = 0.3, .alternating = true};
  EXPECT_THAT(mirrored(config, 2, kSamples), testing::Each(1));
  EXPECT_THAT(mirrored(config, 10, kSamples), testing::Each(5));
  const std::vector<int> first = mirrored(config, 1, kSamples);
  EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0), 300, 50);
  EXPECT_THAT(mirrored({.p = 0.3}, 2, kSamples), testing::Not(testing::Each(1)));
}

TEST(RandomHorizontalFlip, LeavesTheDrawsOfOthersAsTheyAreWhereItAlternates) {
  const TransformPipeline alone({RandomCropConfig{.size = config::Sides(2), .padding = 1}});
  const TransformPipeline both({RandomHorizontalFlipConfig{.p = 0, .alternating = true},
                                RandomCropConfig{.size = config::Sides(2), .padding = 1}});
  const DrawKey key{.seed = 1, .epoch = 2, .position = 3, .sample = 4};
  Plan expected;
  Plan plan;
  alone.draw(key, {2, 2}, expected);
  both.draw(key, {2, 2}, plan);
  EXPECT_EQ(std::get<CropStep>(plan.back()).box, std::get<CropStep>(expected.back()).box);
}

}  // namespace
}  // namespace paceline::data
