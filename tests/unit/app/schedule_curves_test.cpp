#include "paceline/app/schedule_curves.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ScheduleCurves curves_of(const std::string& yaml, int most_points = 2000, int world_size = 1) {
  const auto registries = make_registries();
  const auto recipe = config::bind<Recipe>(config::parse_yaml(yaml, "r.yaml"),
                                           {registries->catalogs(), world_size});
  return schedule_curves(recipe, *registries, /*train_samples=*/80, world_size, most_points);
}

constexpr const char* kDrawn =
    "data: {name: synthetic, global_batch_size: 8, image_size: 64}\ntrain: {duration: 2ep}\n"
    "optimizer: {name: sgd, lr: 0.4, momentum: 0.9, weight_decay: 0.001}\n";

TEST(ScheduleCurves, FollowTheScheduleToTheLastStep) {
  const ScheduleCurves run =
      curves_of(std::string(kDrawn) + "schedule: {name: linear, warmup: 2ba}\n");
  EXPECT_EQ(run.total_steps, 20);
  EXPECT_EQ(run.steps_per_epoch, 10);
  ASSERT_EQ(run.curves.size(), 1U);
  const ScheduleCurve& lr = run.curves[0];
  EXPECT_EQ(lr.name, "optimizer.lr");
  ASSERT_EQ(lr.steps.size(), 20U);
  EXPECT_DOUBLE_EQ(lr.values[0], 0.004);
  EXPECT_DOUBLE_EQ(lr.values[2], 0.4);
  EXPECT_DOUBLE_EQ(lr.values[11], 0.2);
  EXPECT_DOUBLE_EQ(lr.values[19], 0.4 / 18);
  EXPECT_THAT(run.constants,
              ElementsAre("optimizer.momentum = 0.9", "optimizer.weight_decay = 0.001"));
}

TEST(ScheduleCurves, ScaleTheLearningRateByTheBatch) {
  const ScheduleCurves run = curves_of(
      "data: {name: synthetic, global_batch_size: 8, image_size: 64}\n"
      "train: {duration: 2ep, lr_scaling: linear, lr_base_batch_size: 4}\n"
      "optimizer: {name: sgd, lr: 0.4}\nschedule: constant\n");
  EXPECT_DOUBLE_EQ(run.curves[0].values[0], 0.8);
}

TEST(ScheduleCurves, AMomentumThatMovesIsDrawn) {
  const ScheduleCurves run =
      curves_of(std::string(kDrawn) + "schedule: {name: one_cycle, max_momentum: 0.95}\n");
  ASSERT_EQ(run.curves.size(), 2U);
  EXPECT_EQ(run.curves[1].name, "momentum");
  EXPECT_DOUBLE_EQ(run.curves[1].values.front(), 0.95);
  EXPECT_DOUBLE_EQ(*std::ranges::min_element(run.curves[1].values), 0.85);
  EXPECT_THAT(run.constants, ElementsAre("optimizer.weight_decay = 0.001"));
}

TEST(ScheduleCurves, ManyStepsAreFewPointsWithTheFirstAndTheLast) {
  const ScheduleCurves run = curves_of(kDrawn, 4);
  EXPECT_THAT(run.curves[0].steps, ElementsAre(0, 6, 12, 19));
}

TEST(ScheduleCurves, ImagesThatGrowAreAStair) {
  const ScheduleCurves run = curves_of(
      "data: {name: synthetic, global_batch_size: 8, image_size: 64,\n"
      "       progressive_resizing: {start_size: 32, begin: 1ep, end: 15ba, increment: 16}}\n"
      "train: {duration: 2ep}\n");
  ASSERT_EQ(run.curves.size(), 2U);
  const ScheduleCurve& size = run.curves[1];
  EXPECT_EQ(size.name, "data.image_size");
  EXPECT_EQ(size.values.front(), 32);
  EXPECT_EQ(size.values.back(), 64);
  EXPECT_EQ(size.steps.back(), 19);
  for (std::size_t i = 1; i < size.steps.size(); ++i) {
    EXPECT_TRUE(size.values[i] == size.values[i - 1] || size.steps[i] == size.steps[i - 1] + 1)
        << "a slope before step " << size.steps[i];
  }
}

TEST(ScheduleCurves, ARunThatTheClockEndsHasNone) {
  EXPECT_THAT(
      [] { curves_of("data: {name: synthetic}\ntrain: {duration: 2h}\nschedule: constant\n"); },
      ThrowsMessage<base::ConfigError>(HasSubstr("train.duration: a run that the clock ends")));
}

}  // namespace
}  // namespace paceline::app
