#include "paceline/app/recipe/batch_arithmetic.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

Recipe recipe_with(std::int64_t global_batch_size) {
  Recipe recipe;
  recipe.data.global_batch_size = global_batch_size;
  recipe.train.duration = {{{3, config::TimeUnit::kEpoch}}};
  return recipe;
}

TEST(BatchArithmetic, CountsTheLastSmallerBatch) {
  Recipe recipe = recipe_with(32);
  EXPECT_EQ(batch_arithmetic(recipe, 100, 2).lengths.steps_per_epoch, 4);
  EXPECT_EQ(batch_arithmetic(recipe, 100, 2).lengths.total_steps, 12);
  recipe.data.drop_last = true;
  EXPECT_EQ(batch_arithmetic(recipe, 100, 2).lengths.steps_per_epoch, 3);
}

TEST(BatchArithmetic, TakesTheFirstOfSeveralDurations) {
  Recipe recipe = recipe_with(10);
  recipe.train.duration = {{{3, config::TimeUnit::kEpoch},
                            {250, config::TimeUnit::kSample},
                            {3600, config::TimeUnit::kSecond}}};
  EXPECT_EQ(batch_arithmetic(recipe, 100, 1).lengths.total_steps, 25);
}

TEST(BatchArithmetic, MultipliesTheBatchPerRank) {
  Recipe recipe = recipe_with(32);
  recipe.data.global_batch_size.reset();
  recipe.data.batch_size_per_rank = 8;
  EXPECT_EQ(batch_arithmetic(recipe, 100, 4).global_batch_size, 32);
  recipe.data.batch_size_per_rank.reset();
  EXPECT_EQ(batch_arithmetic(recipe, 1000, 4).global_batch_size, 256);
}

TEST(BatchArithmetic, SaysHowTheBatchIsDivided) {
  Recipe recipe = recipe_with(64);
  recipe.train.grad_accum_steps = 2;
  EXPECT_EQ(
      batch_arithmetic(recipe, 640, 2).text(),
      "64 samples a step = 2 ranks x 32, in 2 microbatches of up to 16; 10 steps an epoch, 30 "
      "in all");
  EXPECT_EQ(batch_arithmetic(recipe_with(64), 640, 1).text(),
            "64 samples a step; 10 steps an epoch, 30 in all");
}

TEST(BatchArithmetic, ScalesTheLearningRateByTheBatchAndSaysHow) {
  train::TrainerConfig config;
  EXPECT_EQ(base_lr_of(0.1, config, 1024).value, 0.1);
  EXPECT_EQ(base_lr_of(0.1, config, 1024).text, "0.1");
  config.lr_scaling = train::LrScaling::kLinear;
  EXPECT_DOUBLE_EQ(base_lr_of(0.1, config, 1024).value, 0.4);
  EXPECT_EQ(base_lr_of(0.1, config, 1024).text, "0.4 = 0.1 x 1024 / 256 (train.lr_scaling)");
  config.lr_scaling = train::LrScaling::kSqrt;
  config.lr_base_batch_size = 64;
  EXPECT_DOUBLE_EQ(base_lr_of(0.1, config, 1024).value, 0.4);
  EXPECT_EQ(base_lr_of(0.1, config, 1024).text, "0.4 = 0.1 x sqrt(1024 / 64) (train.lr_scaling)");
}

TEST(BatchArithmetic, RefusesABatchThatRanksCannotShare) {
  EXPECT_THROW(batch_arithmetic(recipe_with(3), 100, 4), base::ConfigError);
  Recipe recipe = recipe_with(8);
  recipe.train.duration = {{{0.5, config::TimeUnit::kFraction}}};
  EXPECT_THROW(batch_arithmetic(recipe, 100, 1), base::ConfigError);
}

}  // namespace
}  // namespace paceline::app
