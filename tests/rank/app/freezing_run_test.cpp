// Whole runs of an algorithm that freezes blocks on its way, as a function of the clock.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/session.h"
#include "paceline/app/train_run.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

struct FreezeBlocksConfig {
  std::int64_t from = 0;  ///< steps [from, until) leave the first block out
  std::int64_t until = 0;
};

class FreezeBlocks final : public train::Algorithm {
 public:
  explicit FreezeBlocks(const FreezeBlocksConfig& config) : config_(config) {}
  std::string_view name() const override { return "freeze_blocks"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kFitStart, train::Event::kStepStart}};
  }
  void apply(train::Event, train::TrainState& state, const train::RunContext&) override {
    const bool freezes = config_.from <= state.clock.step && state.clock.step < config_.until;
    state.strategy->set_trainable(
        [&](const std::string& name) { return !freezes || !name.starts_with("blocks.0."); });
  }

 private:
  FreezeBlocksConfig config_;
};

constexpr const char* kFreezing = "algorithms: {freeze_blocks: {from: 1, until: 4}}\n";

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::FreezeBlocksConfig> {
  using Config = paceline::app::FreezeBlocksConfig;
  static constexpr std::string_view name = "freeze_blocks";
  static constexpr std::string_view summary = "Leaves the first block out for some steps.";
  static constexpr auto fields = std::tuple{
      field(&Config::from, "from", "The first step.", AtLeast{0}, AtMost{100, "few"}),
      field(&Config::until, "until", "The next that trains all.", AtLeast{0}, AtMost{100, "few"})};
};

namespace paceline::app {
namespace {

class FreezingRun : public ::testing::TestWithParam<std::string> {
 protected:
  FreezingRun() {
    registries_->algorithms.add<FreezeBlocksConfig>(
        [](const FreezeBlocksConfig& config) { return std::make_unique<FreezeBlocks>(config); });
  }

  /// Trains up to a step, on from the run's checkpoint if it has one. The state by name, of rank 0.
  std::map<std::string, std::string> train(const std::string& run, std::int64_t last_step) {
    const bool is_resuming = std::filesystem::exists(folder_.path() / run);
    const LoadedRecipe loaded =
        load_recipe(folder_.write("recipe.yaml", std::string(kRaggedVit) + kFreezing),
                    std::vector<std::string>{"parallel.strategy=" + GetParam()}, *registries_, 2);
    std::map<std::string, std::string> found;
    test::run_ranks(2, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                      SessionChanges::at_most(last_step, loaded.recipe));
      const RunDirectory directory =
          attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator);
      session.trainer().fit();
      if (communicator.rank() != 0) return;
      for (const tensor::StateShard& shard : train::state_shards(session.state())) {
        const at::Tensor data = shard.data.contiguous();
        found[shard.name] = fmt::format(
            "{:x}", base::xxh3({static_cast<const char*>(data.const_data_ptr()), data.nbytes()}));
      }
    });
    return found;
  }

 private:
  std::unique_ptr<Registries> registries_ = make_registries();
  test::TempFolder folder_;
  test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

TEST_P(FreezingRun, RestsThawsAndResumesToTheSameBits) {
  const auto first = train("one", 1);
  const auto frozen = train("three", 3);
  const auto whole = train("six", 6);
  ASSERT_EQ(first.size(), frozen.size());
  for (const auto& [name, value] : first) {
    const bool rests = name.find("blocks.0.") != std::string::npos;
    EXPECT_EQ(frozen.at(name) == value, rests) << name;
    EXPECT_NE(whole.at(name), value) << name;
  }
  train("stopped", 2);
  EXPECT_EQ(train("stopped", 3), frozen);
  EXPECT_EQ(train("stopped", 6), whole) << "also where it was frozen when it stopped";
}

INSTANTIATE_TEST_SUITE_P(All, FreezingRun, ::testing::Values("ddp", "zero1", "zero2", "fsdp"),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace paceline::app
