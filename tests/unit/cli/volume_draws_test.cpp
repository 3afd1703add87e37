#include "paceline/cli/volume_draws.h"

#include "paceline/base/error.h"
#include "paceline/train/tasks/volume/ct_diffusion_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

app::Recipe recipe_of_cascade() {
  app::Recipe recipe;
  recipe.task = config::Component::of(
      "ct_diffusion", train::CtDiffusionConfig{.spacing = nn::StepSpacing::kLinspace});
  return recipe;
}

TEST(VolumeDraws, ChangeTheTaskAlone) {
  app::Recipe recipe = recipe_of_cascade();
  apply({.samples = 8}, recipe);
  const auto& task = recipe.task.as<train::CtDiffusionConfig>();
  EXPECT_EQ(task.samples, 8);
  EXPECT_EQ(task.sampling_steps, 50);
  EXPECT_EQ(task.spacing, nn::StepSpacing::kLinspace);
  EXPECT_THAT([&] { apply({.steps = 1001}, recipe); },
              ThrowsMessage<base::ConfigError>(HasSubstr("num_timesteps: 1000")));
}

TEST(VolumeDraws, AreOfNoOtherTask) {
  app::Recipe recipe;
  apply({}, recipe);
  EXPECT_THAT([&] { apply({.steps = 3}, recipe); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("--steps: is for networks that draw volumes (task ct_diffusion), and "
                            "the run's task is classification")));
}

}  // namespace
}  // namespace paceline::cli
