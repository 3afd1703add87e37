// What a run promises as a whole, when the power fails at any moment of it.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/config/parse.h"
#include "support/power_loss_file_system.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::paceline::test::PowerLossFileSystem;
using ::paceline::test::PowerLossScenario;
using ::paceline::test::problem_of;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kFourSteps = R"(
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 1, num_heads: 2}
data:       {name: synthetic, num_samples: 8, num_val_samples: 2, num_classes: 5, size: 16,
             global_batch_size: 4, num_threads: 1}
train:      {duration: 4ba}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: 2ba, keep_last: 1, keep_best: 0}
loggers:    {jsonl: }
)";

/// The steps whose loss is on record.
std::vector<std::int64_t> logged_steps(const fs::path& run) {
  std::vector<std::int64_t> steps;
  std::istringstream metrics(base::read_file(run / "metrics.jsonl"));
  for (std::string line; std::getline(metrics, line) && !metrics.eof();) {
    const nlohmann::json values = nlohmann::json::parse(line);
    if (values.contains("train/loss")) steps.push_back(values.at("step"));
  }
  return steps;
}

/// A disk must hold what it takes to go on from each checkpoint that is on it, and the summary of a
/// run that has ended.
std::string problem_with(const fs::path& disk, bool has_ended) try {
  const fs::path run = disk / "run";
  if (const auto newest = checkpoint::find_latest(run / "checkpoints").path) {
    config::parse_file(run / kConfigFile);
    const std::int64_t step = checkpoint::CheckpointReader(*newest).manifest().step;
    const auto steps = logged_steps(run);
    for (std::int64_t i = 1; i <= step; ++i) {
      if (std::ranges::find(steps, i) == steps.end())
        return fmt::format("checkpoint {} without the metrics of step {}", step, i);
    }
  }
  if (!has_ended) return "";
  if (find_checkpoint(run).filename() != checkpoint::checkpoint_name(4)) return "the end is lost";
  const auto summary = nlohmann::json::parse(base::read_file(run / "summary.json"));
  return summary.at("steps") == 4 ? "" : "another summary";
} catch (const std::exception& error) {
  return error.what();
}

PowerLossScenario whole_run() {
  return {.run = [](PowerLossFileSystem& files, const fs::path& root) {
    const paceline::test::TempFolder folder;
    const auto registries = make_registries();
    const base::Interruption interruption;
    TrainRequest request;
    request.recipe = folder.write("recipe.yaml", kFourSteps);
    request.run_directory = root / "run";
    files.expect([](const fs::path& disk) { return problem_with(disk, /*has_ended=*/false); });
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      run_training(request, {*registries, communicator, files, interruption, 1});
    });
    files.expect([](const fs::path& disk) { return problem_with(disk, /*has_ended=*/true); });
  }};
}

TEST(WholeRunPowerLoss, EveryCheckpointCanBeGoneOnFromAndTheEndIsTold) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  std::vector<std::string> syncs;
  EXPECT_EQ(problem_of(whole_run(), "", &syncs), "");
  int num_tried = 0;
  for (const std::string& sync : syncs) {
    const bool is_of_the_run =
        sync.starts_with("sync run/config") || sync.starts_with("sync run/summary");
    if (!is_of_the_run) continue;
    ++num_tried;
    EXPECT_THAT(problem_of(whole_run(), sync), Not(IsEmpty())) << "without " << sync;
  }
  EXPECT_EQ(num_tried, 2) << "config.yaml and summary.json";
}

}  // namespace
}  // namespace paceline::app
