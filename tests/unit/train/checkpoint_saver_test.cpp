#include "paceline/train/checkpoint_saver.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/faulty_file_system.h"
#include "support/opened_files.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/train/scripted_run.h"

#include <array>
#include <cerrno>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

namespace fs = std::filesystem;
using paceline::test::ScriptedTask;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const CheckpointConfig kEveryThirdStep{.every = config::Duration{3, config::TimeUnit::kBatch},
                                       .monitor = "val/top1",
                                       .mode = MonitorMode::kMax,
                                       .dir = {}};

const std::array kAllParameters{
    optim::GroupRule{"all", 0.0, 1.0, [](const auto&, const auto&) { return true; }}};

class CheckpointSaverTest : public ::testing::Test {
 protected:
  CheckpointSaverTest() {
    state_.task = std::make_unique<ScriptedTask>();
    state_.strategy = parallel::make_none({});
    state_.strategy->prepare(state_.task->network(), kAllParameters);
    state_.optimizer = optim::make_optimizer(optim::SgdConfig{}, state_.strategy->param_groups());
    state_.clock.lengths.steps_per_epoch = 10;
  }

  CheckpointSaver make_saver(const CheckpointConfig& config,
                             std::optional<double> best = std::nullopt) {
    return {config,
            {.folder = folder_.path(), .config = "run: {}\n", .environment = {}, .best = best},
            state_.clock.lengths,
            files_};
  }

  /// A safe point at the next step, after an evaluation if there is a value.
  void step(CheckpointSaver& saver, std::optional<double> top1 = std::nullopt) {
    ++state_.clock.step;
    if (top1) {
      state_.last_eval["val/top1"] = *top1;
      state_.last_eval_step = state_.clock.step;
    }
    saver.at_safe_point(state_, engine_, run_);
  }

  std::vector<std::int64_t> saved_steps(CheckpointSaver& saver) const {
    saver.finish(run_);
    return listed_steps();
  }
  std::vector<std::int64_t> listed_steps() const {
    std::vector<std::int64_t> steps;
    for (const auto& listed : checkpoint::list_checkpoints(folder_.path()).complete)
      steps.push_back(listed.step);
    return steps;
  }

  paceline::test::TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  RunContext run_{*communicator_, {}, 1, {}, signal_};
  Engine engine_{{}, {}};
  TrainState state_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

/// In the background or not.
class BothWaysOfSaving : public CheckpointSaverTest, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Async, BothWaysOfSaving, ::testing::Bool());

TEST_F(CheckpointSaverTest, SavesWhenDueAndWhenTheRunStops) {
  CheckpointSaver saver = make_saver(kEveryThirdStep);
  for (int i = 0; i < 7; ++i) step(saver);
  EXPECT_THAT(saved_steps(saver), ElementsAre(3, 6));
  state_.is_stopping = true;
  step(saver);
  EXPECT_THAT(listed_steps(), ElementsAre(3, 6, 8)) << "what stops waits for the disk";
}

// To see what may go, and what the links point at.
TEST_F(CheckpointSaverTest, ASaveListsTheCheckpointsThatAreThereTwice) {
  CheckpointConfig config = kEveryThirdStep;
  config.keep_last = 3;
  CheckpointSaver saver = make_saver(config);
  for (int i = 0; i < 11; ++i) step(saver);
  EXPECT_THAT(saved_steps(saver), ElementsAre(3, 6, 9));
  paceline::test::OpenedFiles opened(folder_.path());
  step(saver);
  saver.finish(run_);
  auto counts = opened.take();
  EXPECT_EQ(counts["step-00000003/manifest.json"], 1) << "it goes";
  for (const std::string name : {"step-00000006/", "step-00000009/"}) {
    EXPECT_EQ(counts[name + "manifest.json"], 2);
    EXPECT_EQ(counts[name + "rank-0.safetensors"], 0);
  }
}

TEST_F(CheckpointSaverTest, NeverSavesWhenToldSo) {
  CheckpointConfig config = kEveryThirdStep;
  config.every.reset();
  CheckpointSaver saver = make_saver(config);
  for (int i = 0; i < 7; ++i) step(saver, 0.1 * i);
  state_.is_stopping = true;
  step(saver, 0.9);
  EXPECT_THAT(saved_steps(saver), IsEmpty());
}

TEST_P(BothWaysOfSaving, AStateThatIsNotFiniteIsNotSavedAndNamed) {
  const auto is_refused = ::testing::ThrowsMessage<base::DivergedError>(::testing::AllOf(
      ::testing::HasSubstr(
          "at step 6 was not saved: 1 of its tensors holds NaN or infinite values"),
      ::testing::HasSubstr("weight"), ::testing::HasSubstr("lower optimizer.lr"),
      ::testing::HasSubstr("the newest is " + (folder_.path() / "step-00000003").string())));
  CheckpointConfig config = kEveryThirdStep;
  config.async = GetParam();
  CheckpointSaver saver = make_saver(config);
  for (int i = 0; i < 5; ++i) step(saver);
  state_.task->network().parameters()[0].detach()[0][0] = std::numeric_limits<double>::infinity();
  const auto save = [&] {
    step(saver);
    saver.finish(run_);
  };
  EXPECT_THAT(save, is_refused);
  EXPECT_THAT(listed_steps(), ElementsAre(3));
  EXPECT_FALSE(fs::exists(folder_.path() / "step-00000006"));
}

TEST_F(CheckpointSaverTest, AStateThatIsNotFiniteIsToldAtTheEndOfARunThatNeverSaves) {
  CheckpointConfig config = kEveryThirdStep;
  config.every.reset();
  CheckpointSaver saver = make_saver(config);
  step(saver);
  state_.task->network().parameters()[0].detach().fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_NO_THROW(step(saver));
  state_.is_stopping = true;
  EXPECT_THROW(step(saver), base::DivergedError);
}

TEST_F(CheckpointSaverTest, SavesTheSameInTheBackgroundAndNot) {
  CheckpointConfig config = kEveryThirdStep;
  config.async = false;
  CheckpointSaver saver = make_saver(config);
  for (int i = 0; i < 3; ++i) step(saver);
  EXPECT_THAT(listed_steps(), ElementsAre(3));
  const fs::path saved = folder_.path() / "step-00000003" / "rank-0.safetensors";
  const std::string bytes = base::read_file(saved);
  fs::remove_all(saved.parent_path());
  state_.clock.step = 2;
  CheckpointSaver async_saver = make_saver(kEveryThirdStep);
  step(async_saver);
  EXPECT_THAT(saved_steps(async_saver), ElementsAre(3));
  EXPECT_EQ(base::read_file(saved), bytes);
}

TEST_F(CheckpointSaverTest, AFailureIsToldAtALaterStep) {
  paceline::test::FaultyFileSystem files([](std::string_view operation, const fs::path& path) {
    return operation == "sync" && path.filename() == "manifest.json" ? ENOSPC : 0;
  });
  CheckpointSaver saver{
      kEveryThirdStep, {folder_.path(), "run: {}\n", {}}, state_.clock.lengths, files};
  for (int i = 0; i < 3; ++i) step(saver);
  while (!saver.has_failed()) std::this_thread::yield();
  EXPECT_THAT([&] { saver.throw_if_failed(run_); },
              ::testing::ThrowsMessage<base::CheckpointError>(
                  ::testing::HasSubstr("the checkpoint at step 3 was not saved: ")));
  saver.throw_if_failed(run_);
  EXPECT_THAT(listed_steps(), IsEmpty());
}

TEST_F(CheckpointSaverTest, ComparesReplicasWhenTheyAreDue) {
  paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
    TrainState state;
    state.task = std::make_unique<ScriptedTask>();
    state.strategy = parallel::make_ddp({}, communicator);
    state.strategy->prepare(state.task->network(), kAllParameters);
    state.optimizer = optim::make_optimizer(optim::SgdConfig{}, state.strategy->param_groups());
    CheckpointConfig config = kEveryThirdStep;
    config.check_replicas = config::Duration{2, config::TimeUnit::kBatch};
    CheckpointSaver saver(config, {folder_.path(), {}, {}}, state_.clock.lengths, files_);
    const RunContext run{communicator, {}, 1, {}, signal_};
    if (communicator.rank() == 1) {
      const at::NoGradGuard no_grad;
      state.task->network().parameters().front().add_(1e-6);
    }
    state.clock.step = 1;
    saver.at_safe_point(state, engine_, run);
    state.clock.step = 2;
    EXPECT_THAT([&] { saver.at_safe_point(state, engine_, run); },
                ::testing::ThrowsMessage<base::DivergedError>(
                    ::testing::HasSubstr("weight: rank 0 against rank 1")));
  });
}

TEST_F(CheckpointSaverTest, KeepsTheLastAndTheBest) {
  CheckpointConfig config = kEveryThirdStep;
  config.every = config::Duration{1, config::TimeUnit::kBatch};
  config.keep_last = 2;
  CheckpointSaver saver = make_saver(config);
  for (const double top1 : {0.1, 0.6, 0.3, 0.2, 0.4}) step(saver, top1);
  EXPECT_THAT(saved_steps(saver), ElementsAre(2, 4, 5));
  config.keep_best = 0;
  CheckpointSaver forgetful = make_saver(config);
  step(forgetful, 0.9);
  step(forgetful, 0.1);
  EXPECT_THAT(saved_steps(forgetful), ElementsAre(6, 7));
}

TEST_F(CheckpointSaverTest, AnEvaluationThatIsBetterThanAllSavesAtOnce) {
  CheckpointConfig config = kEveryThirdStep;
  config.every = config::Duration{100, config::TimeUnit::kBatch};
  config.keep_last = 100;
  config.mode = MonitorMode::kMin;
  {
    CheckpointSaver saver = make_saver(config);
    for (const double value : {0.5, 0.7, 0.5, 0.4}) step(saver, value);
    step(saver);  // the old evaluation says nothing of this step
    EXPECT_THAT(saved_steps(saver), ElementsAre(1, 4));
  }
  CheckpointSaver resumed = make_saver(config, 0.4);
  step(resumed, 0.45);
  EXPECT_THAT(saved_steps(resumed), ElementsAre(1, 4)) << "a resumed run knows its best";
  step(resumed, 0.3);
  EXPECT_THAT(saved_steps(resumed), ElementsAre(1, 4, 7));
}

TEST_F(CheckpointSaverTest, NotANumberIsNeverTheBest) {
  CheckpointConfig config = kEveryThirdStep;
  config.every = config::Duration{100, config::TimeUnit::kBatch};
  CheckpointSaver saver = make_saver(config);
  step(saver, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(saved_steps(saver), IsEmpty());
  step(saver, 0.1);
  step(saver, 0.2);
  EXPECT_THAT(saved_steps(saver), ElementsAre(2, 3));
}

TEST_F(CheckpointSaverTest, NamesTheMetricsThereAre) {
  CheckpointConfig config = kEveryThirdStep;
  config.monitor = "val/top2";
  CheckpointSaver saver = make_saver(config);
  EXPECT_THAT([&] { step(saver, 0.5); },
              ::testing::ThrowsMessage<base::ConfigError>(::testing::HasSubstr("val/top1")));
  config.keep_best = 0;
  CheckpointSaver indifferent = make_saver(config);
  EXPECT_NO_THROW(step(indifferent, 0.5));
}

}  // namespace
}  // namespace paceline::train
