#include "paceline/app/batch_find/batch_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BatchKeys, PutTheBatchOfARankInPlaceOfAGlobalOne) {
  Recipe recipe;
  EXPECT_THAT(largest_batch_keys(recipe, 48), ElementsAre("data.batch_size_per_rank=48"));
  recipe.data.global_batch_size = 64;
  recipe.train.grad_accum_steps = 2;
  EXPECT_THAT(largest_batch_keys(recipe, 48),
              ElementsAre("data.global_batch_size=null", "data.batch_size_per_rank=48",
                          "train.grad_accum_steps=1"));
}

TEST(BatchKeys, AShareIsCutIntoTheFewestMicrobatchesThatFit) {
  const auto up_to = [](std::int64_t most) {
    return [most](std::int64_t microbatch) { return microbatch <= most; };
  };
  EXPECT_EQ(fewest_microbatches(32, 48, up_to(48)), 1);
  EXPECT_EQ(fewest_microbatches(128, 48, up_to(48)), 3) << "of 43, 43 and 42";
  EXPECT_EQ(fewest_microbatches(128, 48, up_to(32)), 4) << "the batch itself takes memory too";
  EXPECT_EQ(fewest_microbatches(128, 48, up_to(0)), std::nullopt);
}

TEST(BatchKeys, TheLearningRateFollowsUnlessTheRecipeHasItFollow) {
  Recipe recipe;
  EXPECT_THAT(lr_scaling_keys(recipe, 256, 96),
              ElementsAre("train.lr_scaling=linear", "train.lr_base_batch_size=256"));
  EXPECT_THAT(lr_scaling_keys(recipe, 96, 96), IsEmpty());
  recipe.optimizer.name = "adamw";
  EXPECT_THAT(lr_scaling_keys(recipe, 256, 96),
              ElementsAre("train.lr_scaling=sqrt", "train.lr_base_batch_size=256"));
  recipe.train.lr_scaling = train::LrScaling::kLinear;
  EXPECT_THAT(lr_scaling_keys(recipe, 256, 96), IsEmpty());
}

TEST(BatchKeys, TakeThePlaceOfOverridesOfTheSameKeys) {
  EXPECT_THAT(overrides_with({"++data.batch_size_per_rank=4", "~algorithms.mixup", "run.seed=2"},
                             {"data.batch_size_per_rank=48"}),
              ElementsAre("~algorithms.mixup", "run.seed=2", "data.batch_size_per_rank=48"));
}

}  // namespace
}  // namespace paceline::app
