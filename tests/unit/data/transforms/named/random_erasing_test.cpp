#include "paceline/data/transforms/named/random_erasing.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomErasing, FitsItsBoxes) {
  constexpr int kCount = 8000;
  int boxes = 0;
  double area = 0;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    const Plan plan = plan_of(RandomErasingConfig{.value = {1, -2, 3}}, {60, 90}, position);
    if (plan.empty()) continue;
    ++boxes;
    const auto& step = std::get<EraseStep>(plan.at(0));
    EXPECT_EQ(step.value, (std::array<float, 3>{1, -2, 3}));
    ASSERT_TRUE(contains(whole({60, 90}), step.box));
    EXPECT_LT(step.box.height, 60);
    EXPECT_LT(step.box.width, 90);
    area += static_cast<double>(step.box.height) * step.box.width / (60 * 90);
  }
  EXPECT_NEAR(boxes, kCount / 2, 150);
  // torchvision's mean over 40,000 draws; large flat boxes are drawn again more often.
  EXPECT_NEAR(area / boxes, 0.1698, 0.005);
}

TEST(RandomErasing, FillsAsManyBoxesAsAskedFor) {
  const RandomErasingConfig config{.p = 1, .scale = {0.3, 0.3}, .count = {2, 4}};
  std::array<int, 5> counts{};
  for (std::uint64_t position = 0; position < 300; ++position) {
    const Plan plan = plan_of(config, {60, 90}, position);
    ASSERT_LE(plan.size(), 4u);
    ++counts[plan.size()];
    double area = 0;
    for (const Step& step : plan) {
      const Box& box = std::get<EraseStep>(step).box;
      area += static_cast<double>(box.height) * box.width / (60 * 90);
    }
    EXPECT_NEAR(area, 0.3, 0.02);
  }
  EXPECT_EQ(counts[0] + counts[1], 0);
  for (const std::size_t count : {2u, 3u, 4u}) EXPECT_GT(counts[count], 60);
}

TEST(RandomErasing, RefusesMoreBoxesAtLeastThanAtMost) {
  EXPECT_THAT(
      [] {
        make(RandomErasingConfig{.count = {3, 2}})->check();
      },
      testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("random_erasing.count")));
}

TEST(RandomErasing, FillsWithARandomColourOrWithNoise) {
  double sum = 0;
  double squares = 0;
  int count = 0;
  for (std::uint64_t position = 0; position < 3000; ++position) {
    const RandomErasingConfig config{.p = 1, .mode = ErasingMode::kRand};
    const Plan plan = plan_of(config, {60, 90}, position);
    if (plan.empty()) continue;
    for (const float value : std::get<EraseStep>(plan[0]).value) {
      sum += value;
      squares += value * value;
      ++count;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.04);
  EXPECT_NEAR(squares / count, 1, 0.06);
  const RandomErasingConfig pixel{.p = 1, .mode = ErasingMode::kPixel};
  const auto seed_of = [&](std::uint64_t position) {
    return std::get<EraseStep>(plan_of(pixel, {60, 90}, position).at(0)).noise_seed.value();
  };
  EXPECT_NE(seed_of(0), seed_of(1));
  EXPECT_TRUE(make(pixel)->draws_noise());
  EXPECT_FALSE(make(RandomErasingConfig{})->draws_noise());
}

}  // namespace
}  // namespace paceline::data
