// Whole runs with algorithms that transform batches, as recipes have them by default: one draw for
// each microbatch.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// 13 images in batches of 6: the last batch of an epoch has one, for the first of two ranks.
constexpr const char* kTransformedRecipe = R"(
run:        {seed: 3}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 1, num_heads: 2}
data:       {name: synthetic, num_samples: 13, num_val_samples: 3, num_classes: 5, size: 16,
             global_batch_size: 6, num_threads: 1}
train:      {duration: 2ep, eval_every: null}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: null, keep_best: 0}
loggers:    {jsonl: }
)";

/// A network that takes images of any size.
const std::vector<std::string> kAnySizeConvnet{"model=convnext_tiny", "model.dims=[8, 8, 8, 8]",
                                               "model.depths=[1, 1, 1, 1]", "data.size=64",
                                               "data.image_size=64"};

/// Of each step; nothing where it is not logged.
std::vector<double> logged(const std::filesystem::path& run, const char* name) {
  std::vector<double> values;
  std::ifstream lines(run / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains(name)) values.push_back(json.at(name));
  }
  return values;
}

class BatchTransformsRun : public ::testing::TestWithParam<const char*> {
 protected:
  /// The run's directory.
  std::filesystem::path train(int ranks, int microbatches,
                              const std::vector<std::string>& overrides) {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kTransformedRecipe);
    request.run_directory = folder_.path() / fmt::format("run-{}", num_runs_++);
    request.overrides = overrides;
    request.overrides.push_back(fmt::format("train.grad_accum_steps={}", microbatches));
    test::run_ranks(ranks, [&](comm::Communicator& communicator) {
      base::RealFileSystem files;
      const base::Interruption interruption;
      EXPECT_EQ(run_training(request, {*registries_, communicator, files, interruption, 1}), 0);
    });
    return *request.run_directory;
  }

  const std::unique_ptr<Registries> registries_ = make_registries();
  const test::TempFolder folder_;
  int num_runs_ = 0;
};

TEST_P(BatchTransformsRun, RanksEqualMicrobatchesAlsoWhereABatchLeavesOneWithoutSamples) {
  const std::string algorithms = GetParam();
  std::vector<std::string> overrides{"++algorithms={" + algorithms + "}"};
  if (algorithms.starts_with("colout"))
    overrides.insert(overrides.end(), kAnySizeConvnet.begin(), kAnySizeConvnet.end());
  const auto alone = train(1, 2, overrides);
  const auto together = train(2, 1, overrides);
  for (const char* name : {"mixup/lambda", "cutmix/lambda"}) {
    const auto values = logged(alone, name);
    EXPECT_THAT(logged(together, name), ::testing::Pointwise(::testing::DoubleNear(1e-12), values));
    for (const double value : values) EXPECT_TRUE(value >= 0 && value <= 1) << value;
  }
  const auto losses = logged(alone, "train/loss");
  const auto losses_together = logged(together, "train/loss");
  ASSERT_EQ(losses.size(), 6U);
  ASSERT_EQ(losses_together.size(), 6U);
  for (std::size_t step = 0; step < losses.size(); ++step) {
    EXPECT_NEAR(losses[step], losses_together[step], 1e-5) << step;
    EXPECT_TRUE(std::isfinite(losses[step])) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, BatchTransformsRun,
    ::testing::Values("mixup: {alpha: 0.4}", "mixup: {alpha: 0.4, interpolate_loss: true}",
                      "cutmix: {}", "cutmix: {interpolate_loss: true, uniform_sampling: true}",
                      "mixup: {alpha: 1}, cutmix: {}",
                      "mixup: {alpha: 1}, cutmix: {with_mixup: sequential, partner: reversed}",
                      "mixup: {alpha: 1}, cutmix: {with_mixup: alternate, interpolate_loss: true}",
                      "selective_backprop: {start: 0, end: 1, interrupt: 0}",
                      "selective_backprop: {start: 0, end: 1, keep: 0.7}, mixup: {}",
                      "stochastic_depth: {drop_rate: 0.5}", "cutout: {num_holes: 2}",
                      "colout: {}, cutout: {}, mixup: {}, cutmix: {}"));

/// Where the images grow from 48 to 64 pixels after the loader: data.progressive_resizing.mode.
class GrowingImagesRun : public BatchTransformsRun {};

TEST_P(GrowingImagesRun, RanksEqualMicrobatchesUnderEveryStrategy) {
  std::vector<std::string> overrides = kAnySizeConvnet;
  overrides.push_back(
      fmt::format("data.progressive_resizing={{start_size: 48, begin: 2ba, end: 4ba, increment: "
                  "8, law: composer, mode: {}}}",
                  GetParam()));
  overrides.emplace_back(
      "++algorithms={selective_backprop: {start: 0, end: 1, interrupt: 0}, "
      "colout: {p_row: 0.1}}");
  const auto alone = logged(train(1, 2, overrides), "train/loss");
  const auto together = logged(train(2, 1, overrides), "train/loss");
  overrides.emplace_back("parallel.strategy=fsdp");
  const auto sharded = logged(train(2, 1, overrides), "train/loss");
  ASSERT_EQ(alone.size(), 6U);
  for (std::size_t step = 0; step < alone.size(); ++step) EXPECT_TRUE(std::isfinite(alone[step]));
  EXPECT_THAT(together, ::testing::Pointwise(::testing::DoubleNear(1e-5), alone));
  EXPECT_THAT(sharded, ::testing::Pointwise(::testing::DoubleNear(1e-5), alone));
}

INSTANTIATE_TEST_SUITE_P(Modes, GrowingImagesRun, ::testing::Values("nearest", "crop"));

/// Where a forward pass waits for the other ranks, as the overrides make it.
class SelectionOverRanks : public BatchTransformsRun {};

TEST_P(SelectionOverRanks, GoesOnWhereABatchLeavesARankWithoutSamples) {
  std::vector<std::string> overrides{
      "++algorithms.selective_backprop={start: 0, end: 1, interrupt: 0}"};
  std::istringstream words(GetParam());
  for (std::string word; words >> word;) overrides.push_back(word);
  const auto losses = logged(train(2, 1, overrides), "train/loss");
  ASSERT_EQ(losses.size(), 6U);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss)) << loss;
}

INSTANTIATE_TEST_SUITE_P(
    Forward, SelectionOverRanks,
    ::testing::Values("parallel.strategy=fsdp",
                      "model=resnet18 model.layers=[1,1] model.width=16 data.size=32 "
                      "data.image_size=32 parallel.sync_batch_norm=true"));

TEST(BatchTransformsNote, TellsHowMixupAndCutmixGoTogether) {
  const auto registries = make_registries();
  const test::TempFolder folder;
  TrainRequest request;
  request.recipe = folder.write("recipe.yaml", kTransformedRecipe);
  request.overrides = {"+algorithms.mixup", "+algorithms.cutmix"};
  request.is_dry_run = true;
  std::string log;
  const base::LogRedirection redirection([&](base::LogLevel, std::string_view line) {
    log += line;
    log += '\n';
  });
  test::run_ranks(1, [&](comm::Communicator& communicator) {
    base::RealFileSystem files;
    const base::Interruption interruption;
    EXPECT_EQ(run_training(request, {*registries, communicator, files, interruption, 1}), 0);
  });
  EXPECT_THAT(log, ::testing::HasSubstr("note: mixup and cutmix (algorithms.cutmix.with_mixup="
                                        "switch): one of them is drawn for each microbatch"));
}

}  // namespace
}  // namespace paceline::app
