// Runs that end soon after the mean of their weights was loaded compute running statistics anew:
// the same on any number of ranks, and before anything is evaluated or saved.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/tensor/state_shard.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using Overrides = std::vector<std::string>;
using ::testing::HasSubstr;

/// Epochs of four steps, the last one of two samples; weights stay, so that only statistics differ.
constexpr const char* kRefreshedRecipe = R"(
run:        {seed: 3}
model:      {name: resnet18, layers: [1, 1], width: 4}
data:       {name: synthetic, num_samples: 14, num_val_samples: 3, num_classes: 5, size: 24,
             image_size: 24, global_batch_size: 4, num_threads: 1}
train:      {duration: 8ba, eval_every: 4ba, precision: fp64}
optimizer:  {name: sgd, lr: 0, momentum: 0}
algorithms: {swa: {start: 2ba, end: 7ba, interval: 1ba}}
checkpoint: {every: 3ba, keep_best: 0, async: false}
loggers:    {}
)";

/// Thrown where a process is gone in the middle.
struct LogicalEnd {};

class RefreshedRun : public ::testing::Test {
 protected:
  struct Outcome {
    std::map<std::string, at::Tensor> saved;  ///< of the model, and what swa owns
    std::map<std::string, double> evaluated;
    nlohmann::json state;
  };

  /// Trains in a run directory, and goes on with what it holds.
  Outcome train(const std::string& run, int world_size, const Overrides& overrides = {}) {
    const LoadedRecipe loaded = load_recipe(folder_.write("recipe.yaml", kRefreshedRecipe),
                                            overrides, *registries_, world_size);
    const bool is_resuming = std::filesystem::exists(folder_.path() / run);
    Outcome outcome;
    paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, *interruption_, 1,
                                      /*ranks_per_node=*/world_size == 4 ? 2 : world_size});
      const RunDirectory directory =
          attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator);
      session.trainer().fit();
      if (communicator.rank() == 0) outcome.evaluated = session.state().last_eval;
    });
    checkpoint::CheckpointReader reader(find_checkpoint(folder_.path() / run));
    outcome.state = reader.manifest().state;
    for (const auto& record : reader.manifest().tensors)
      outcome.saved[record.name] = reader.tensor(record.name);
    return outcome;
  }

  static void expect_near(const Outcome& got, const Outcome& wanted) {
    ASSERT_EQ(got.evaluated.size(), wanted.evaluated.size());
    for (const auto& [name, value] : wanted.evaluated)
      EXPECT_NEAR(got.evaluated.at(name), value, 1e-9) << name;
    for (const auto& [name, tensor] : wanted.saved) {
      if (name.starts_with(tensor::kAlgorithms)) continue;  // the average's keep as they were
      const at::Tensor difference = (got.saved.at(name) - tensor).abs();
      EXPECT_LE(difference.max().to(at::kDouble).item<double>(), 1e-12) << name;
    }
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  paceline::test::TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  std::unique_ptr<base::Interruption> interruption_ = std::make_unique<base::Interruption>();
  std::function<void()> when_pass_begins_ = [] {};
  base::LogRedirection redirection_{[this](base::LogLevel, std::string_view line) {
    if (line.find("a pass over the training data") != std::string_view::npos) when_pass_begins_();
  }};
};

TEST_F(RefreshedRun, EndsWithTheSameStatisticsOnAnyNumberOfRanks) {
  const Overrides at_end{"algorithms.swa.end=8ba"};  // after which steps move them no more
  const Outcome wanted = train("alone", 1, at_end);
  EXPECT_EQ(wanted.saved.at("bn1.num_batches_tracked").item<std::int64_t>(), 4);
  for (const int world_size : {1, 2, 3}) {
    for (const int microbatches : {1, 2}) {
      const std::string name = fmt::format("{}x{}", world_size, microbatches);
      SCOPED_TRACE(name);
      Overrides overrides = at_end;
      overrides.push_back(fmt::format("train.grad_accum_steps={}", microbatches));
      expect_near(train(name, world_size, overrides), wanted);
    }
  }
  const Outcome without =
      train("without", 1, {"algorithms.swa.end=8ba", "algorithms.swa.refresh=never"});
  EXPECT_NE(without.evaluated.at("val/loss"), wanted.evaluated.at("val/loss"));
  EXPECT_FALSE(without.saved.at("bn1.running_mean").equal(wanted.saved.at("bn1.running_mean")));
}

TEST_F(RefreshedRun, EndsWithThemUnderAnyStrategyAndKindOfBatchNorm) {
  const Outcome wanted = train("alone", 1, {"algorithms.swa.end=8ba"});
  const std::map<std::string, std::pair<int, Overrides>> runs{
      {"zero1", {2, {"parallel.strategy=zero1"}}},
      {"zero2", {2, {"parallel.strategy=zero2"}}},
      {"fsdp", {3, {"parallel.strategy=fsdp"}}},
      {"hsdp", {4, {"parallel.strategy=hsdp"}}},
      {"kept", {2, {"parallel.ddp.buffers=keep"}}},
      {"synchronised", {3, {"parallel.sync_batch_norm=true"}}},
      {"ghosts", {2, {"++algorithms.ghost_batchnorm.ghost_batch_size=1"}}}};
  for (const auto& [name, run] : runs) {
    SCOPED_TRACE(name);
    Overrides overrides = run.second;
    overrides.emplace_back("algorithms.swa.end=8ba");
    expect_near(train(name, run.first, overrides), wanted);
  }
}

TEST_F(RefreshedRun, LeavesFrozenStatisticsAndTheWeightsOfOthers) {
  const Overrides frozen{"model.freeze_batch_norm=true", "++algorithms.ema.half_life=2ba"};
  bool passes = false;
  when_pass_begins_ = [&] { passes = true; };
  const Outcome outcome = train("frozen", 1, frozen);
  EXPECT_FALSE(passes);
  EXPECT_EQ(outcome.saved.at("bn1.running_mean").abs().sum().item<double>(), 0);
  train("moving", 1);
  EXPECT_TRUE(passes);
}

TEST_F(RefreshedRun, GoesOnWithTheSameBitsAfterItDiedInThePass) {
  const Outcome whole = train("whole", 1);
  when_pass_begins_ = [] { throw LogicalEnd(); };
  EXPECT_THROW(train("killed", 1), LogicalEnd);
  when_pass_begins_ = [] {};
  const Outcome resumed = train("killed", 1);
  EXPECT_EQ(resumed.evaluated, whole.evaluated);
  for (const auto& [name, tensor] : whole.saved)
    EXPECT_TRUE(tensor.equal(resumed.saved.at(name))) << name;
}

TEST_F(RefreshedRun, GoesOnWithTheSameBitsAfterASignalInThePass) {
  for (const char* end : {"7ba", "8ba"}) {
    const Overrides overrides{fmt::format("algorithms.swa.end={}", end)};
    const Outcome whole = train(fmt::format("whole{}", end), 2, overrides);
    when_pass_begins_ = [&] { interruption_->request(SIGTERM); };
    const std::string run = fmt::format("stopped{}", end);
    const Outcome stopped = train(run, 2, overrides);
    EXPECT_TRUE(stopped.state.at("wants_fresh_statistics").get<bool>());
    EXPECT_EQ(stopped.state.at("clock").at("step").get<int>(), end[0] - '0');
    when_pass_begins_ = [] { ADD_FAILURE() << "the average is loaded once"; };
    interruption_ = std::make_unique<base::Interruption>();
    const Outcome resumed = train(run, 2, overrides);
    EXPECT_FALSE(resumed.state.at("wants_fresh_statistics").get<bool>());
    EXPECT_EQ(resumed.evaluated, whole.evaluated);
    for (const auto& [name, tensor] : whole.saved)
      EXPECT_TRUE(tensor.equal(resumed.saved.at(name))) << name;
    when_pass_begins_ = [] {};
  }
}

}  // namespace
}  // namespace paceline::app
