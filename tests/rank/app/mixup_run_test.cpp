// Whole runs with mixup as recipes have it by default: one draw for each microbatch.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/interruption.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// 13 images in batches of 6: the last batch of an epoch has one, for the first of two ranks.
constexpr const char* kMixupRecipe = R"(
run:        {seed: 3}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 1, num_heads: 2}
data:       {name: synthetic, num_samples: 13, num_val_samples: 3, num_classes: 5, size: 16,
             global_batch_size: 6, num_threads: 1}
train:      {duration: 2ep, eval_every: null}
optimizer:  {name: sgd, lr: 0.05}
algorithms: {mixup: {alpha: 0.4}}
checkpoint: {every: null, keep_best: 0}
loggers:    {jsonl: }
)";

/// Of each step.
std::vector<double> logged(const std::filesystem::path& run, const char* name) {
  std::vector<double> values;
  std::ifstream lines(run / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains(name)) values.push_back(json.at(name));
  }
  return values;
}

TEST(MixupRun, RanksEqualMicrobatchesAlsoWhereABatchLeavesOneWithoutSamples) {
  const auto registries = make_registries();
  const test::TempFolder folder;
  const auto recipe = folder.write("recipe.yaml", kMixupRecipe);
  for (const char* interpolates : {"false", "true"}) {
    const auto train = [&](int ranks, int microbatches) {
      const auto run = folder.path() / fmt::format("{}-{}", interpolates, ranks);
      TrainRequest request;
      request.recipe = recipe;
      request.run_directory = run;
      request.overrides = {fmt::format("train.grad_accum_steps={}", microbatches),
                           fmt::format("+algorithms.mixup.interpolate_loss={}", interpolates)};
      test::run_ranks(ranks, [&](comm::Communicator& communicator) {
        base::RealFileSystem files;
        const base::Interruption interruption;
        EXPECT_EQ(run_training(request, {*registries, communicator, files, interruption, 1}), 0);
      });
      return run;
    };
    const auto alone = train(1, 2);
    const auto together = train(2, 1);
    EXPECT_EQ(logged(alone, "mixup/lambda"), logged(together, "mixup/lambda"));
    const auto losses = logged(alone, "train/loss");
    const auto losses_together = logged(together, "train/loss");
    ASSERT_EQ(losses.size(), 6U);
    ASSERT_EQ(losses_together.size(), 6U);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(losses[step], losses_together[step], 1e-5) << step;
      EXPECT_TRUE(std::isfinite(logged(together, "mixup/lambda").at(step)));
    }
  }
}

}  // namespace
}  // namespace paceline::app
