#include "paceline/data/transforms/named/geometry/random_flip.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"

#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

base::Philox draws_at(std::uint64_t position) {
  return {7, base::DrawPurpose::kAugmentation, 0, position};
}

TEST(RandomFlip, MirrorsImagesAlongTheAxesThatItNames) {
  const auto steps = [](const RandomFlipConfig& config) {
    Plan plan;
    auto draws = draws_at(0);
    EXPECT_EQ(draw_steps(config, {4, 6}, draws, plan), (ImageSize{4, 6}));
    std::vector<std::size_t> kinds;
    for (const Step& step : plan) kinds.push_back(step.index());
    return kinds;
  };
  const std::size_t flip = Step(FlipStep{}).index();
  const std::size_t vertical = Step(VerticalFlipStep{}).index();
  EXPECT_THAT(steps({.axes = {-1}, .p = 1}), ::testing::ElementsAre(flip));
  EXPECT_THAT(steps({.axes = {-2, -1}, .p = 1}), ::testing::ElementsAre(vertical, flip));
  EXPECT_THAT(steps({.axes = {-2, -1}, .p = 0}), ::testing::IsEmpty());
  EXPECT_THROW(TransformConfig(RandomFlipConfig{.axes = {-3}})->fixed_size({}), base::ConfigError);
}

TEST(RandomFlip, DrawsForEachAxisOfArrays) {
  const auto transform = make(RandomFlipConfig{.axes = {-3, -1}});
  const ArrayTransform& arrays = *transform->for_arrays();
  EXPECT_EQ(arrays.num_axes(), 3u);
  std::set<std::array<bool, 3>> seen;
  for (std::uint64_t i = 0; i < 64; ++i) {
    auto draws = draws_at(i);
    const ArrayWindow window = arrays.draw(std::array<std::int64_t, 3>{2, 3, 4}, draws);
    EXPECT_EQ(window[2].size, 4);
    seen.insert({window[0].is_flipped, window[1].is_flipped, window[2].is_flipped});
  }
  EXPECT_EQ(seen.size(), 4u) << "both axes, each by itself; the middle one never";
  EXPECT_FALSE(seen.contains({false, true, false}));
}

TEST(RandomFlip, AnAxisStandsOnce) {
  const TransformConfig twice = RandomFlipConfig{.axes = {-1, -1}};
  EXPECT_THROW(twice->check(), base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
