#include "paceline/app/phased_run.h"

#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/app/tiny_recipe.h"

#include <chrono>
#include <csignal>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string phased_base() { return tiny_recipe("{every: 1ba, keep_last: 9}"); }
constexpr const char* kTwoPhases = R"(
phases:
  head:  {train: {duration: 1ep}, model: {freeze: [blocks, stem]}}
  whole: {data: {global_batch_size: 2}, optimizer: {name: adamw, lr: 0.001},
          schedule: {name: linear, warmup: 3ba},
          train: {grad_accum_steps: 2, precision: bf16, activation_checkpointing: {}}}
)";

class PhasedRunTest : public ::testing::Test {
 protected:
  int train(const std::string& recipe, TrainRequest request, int world_size = 1) {
    request.recipe = folder_.write("recipe.yaml", recipe);
    if (!request.run_directory) request.run_directory = run_;
    int exit_code = -1;
    paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      const int code = run_training(
          request, {*registries_, communicator, files_, *interruption_, 1, world_size, 1});
      if (communicator.rank() == 0) exit_code = code;
    });
    return exit_code;
  }
  int train(const std::vector<std::string>& overrides = {}, int world_size = 1) {
    TrainRequest request;
    request.overrides = overrides;
    return train(phased_base() + kTwoPhases, request, world_size);
  }
  int resume(const std::string& from = "auto") {
    TrainRequest request;
    request.resume = from;
    return train(phased_base() + kTwoPhases, request);
  }

  static TrainRequest started_at(const std::string& phase, const std::optional<std::string>& from) {
    TrainRequest request;
    request.resume = from;
    request.start_phase = phase;
    return request;
  }
  static std::string weights(const fs::path& run) {
    return base::xxh3_128_hex(base::read_file(find_checkpoint(run) / "rank-0.safetensors"));
  }
  fs::path phase(const std::string& name) const { return phase_folder(run_, name); }
  /// The weights at the end of a run that nothing disturbed.
  std::string undisturbed() {
    const fs::path other = std::exchange(run_, folder_.path() / "undisturbed");
    EXPECT_EQ(train(), 0);
    return weights(std::exchange(run_, other));
  }

  paceline::test::TempFolder folder_;
  fs::path run_ = folder_.path() / "run";
  paceline::test::UnsyncedFileSystem files_;
  std::unique_ptr<Registries> registries_ = make_registries();
  std::optional<base::Interruption> interruption_{std::in_place};
  std::string log_;
  base::LogRedirection redirection_{[this](base::LogLevel, std::string_view line) {
    log_ += line;
    log_ += '\n';
  }};
};

TEST_F(PhasedRunTest, EqualsRunsThatStartFromEachOther) {
  EXPECT_EQ(train(), 0);
  EXPECT_THAT(log_,
              AllOf(HasSubstr("phase 1 of 2: head\n"), HasSubstr("phase 2 of 2: whole, from "),
                    HasSubstr("1-head/checkpoints/step-00000002")));
  TrainRequest first;
  first.run_directory = folder_.path() / "first";
  first.overrides = {"train.duration=1ep", "model.freeze=[blocks, stem]"};
  train(phased_base(), first);
  TrainRequest second;
  second.run_directory = folder_.path() / "second";
  second.overrides = {"data.global_batch_size=2",
                      "optimizer={name: adamw, lr: 0.001}",
                      "schedule={name: linear, warmup: 3ba}",
                      "train.grad_accum_steps=2",
                      "train.precision=bf16",
                      "train.activation_checkpointing={}",
                      "model.pretrained=" + first.run_directory->string() + "@last"};
  train(phased_base(), second);
  EXPECT_EQ(weights(phase("1-head")), weights(*first.run_directory));
  EXPECT_EQ(weights(phase("2-whole")), weights(*second.run_directory));
  EXPECT_NE(weights(phase("1-head")), weights(phase("2-whole")));
  EXPECT_EQ(find_checkpoint(run_), find_checkpoint(phase("2-whole")))
      << "the run is its last phase";
  EXPECT_THAT(base::read_file(run_ / "config.yaml"), HasSubstr("phases:\n  head:"));
  EXPECT_THAT(base::read_file(run_ / "log.txt"),
              AllOf(HasSubstr("phase 1 of 2"), HasSubstr("phase 2 of 2")));
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  ASSERT_EQ(summary.at("phases").size(), 2U);
  EXPECT_EQ(summary.at("phases")[1].at("name"), "whole");
  EXPECT_EQ(summary.at("phases")[1].at("summary").at("steps"), 8);
}

TEST_F(PhasedRunTest, GoesOnWhereverItWasKilled) {
  const std::string expected = undisturbed();
  EXPECT_EQ(train(), 0);
  EXPECT_EQ(weights(run_), expected);
  // In the second phase.
  for (const int step : {4, 5, 6, 7, 8})
    fs::remove_all(phase("2-whole") / "checkpoints" / fmt::format("step-{:08}", step));
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("2-whole/checkpoints/step-00000003 at step 3"));
  EXPECT_EQ(weights(run_), expected);
  // Before its first checkpoint.
  fs::remove_all(phase("2-whole") / "checkpoints");
  fs::remove(phase("2-whole") / "summary.json");
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(weights(run_), expected);
  // Between the phases.
  fs::remove_all(phase("2-whole"));
  log_.clear();
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("1-head/checkpoints/step-00000002 at step 2"));
  EXPECT_EQ(weights(run_), expected);
  // In the first, and when all is done.
  fs::remove_all(phase("2-whole"));
  fs::remove_all(phase("1-head") / "checkpoints" / "step-00000002");
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(weights(run_), expected);
}

TEST_F(PhasedRunTest, ASignalEndsTheRunNotThePhase) {
  const std::string expected = undisturbed();
  interruption_->request(SIGTERM, std::chrono::hours(1));
  log_.clear();
  EXPECT_EQ(train(), 128 + SIGTERM);
  EXPECT_FALSE(fs::exists(phase("2-whole")));
  EXPECT_THAT(log_, HasSubstr("--run-dir " + run_.string() + " --resume auto"));
  interruption_.emplace();
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(weights(run_), expected);
}

TEST_F(PhasedRunTest, StartsFromTheBest) {
  EXPECT_EQ(train({"checkpoint.monitor=val/loss", "checkpoint.mode=min", "train.eval_every=1ba",
                   "++phases.head.optimizer.lr=3", "++phases.head.schedule=constant",
                   "++phases.head.train.duration=4ep", "++phases.head.model.freeze=[]",
                   "++phases.whole.start_from=best"}),
            0);
  const fs::path best = find_checkpoint(phase("1-head").string() + "@best");
  ASSERT_NE(best, find_checkpoint(phase("1-head").string() + "@last"));
  EXPECT_THAT(log_, HasSubstr("phase 2 of 2: whole, from " + best.string() + "\n"));
}

TEST_F(PhasedRunTest, GoesOnFromACheckpointOfAPhase) {
  const std::string expected = undisturbed();
  const fs::path other = folder_.path() / "undisturbed" / "phases";
  EXPECT_EQ(resume((other / "1-head" / "checkpoints" / "step-00000001").string()), 0);
  EXPECT_EQ(weights(run_), expected);
  fs::remove_all(run_);
  EXPECT_EQ(resume((other / "2-whole" / "checkpoints" / "step-00000005").string()), 0);
  EXPECT_EQ(weights(run_), expected);
  EXPECT_FALSE(fs::exists(phase("1-head"))) << "another run's weights served";
  // What later phases stand on stays.
  run_ = folder_.path() / "undisturbed";
  EXPECT_THAT([&] { resume((other / "1-head" / "checkpoints" / "step-00000001").string()); },
              testing::ThrowsMessage<base::Error>(
                  AllOf(HasSubstr("the phase whole has begun"), HasSubstr("another --run-dir"))));
  EXPECT_EQ(weights(run_), expected);
}

TEST_F(PhasedRunTest, AFolderAboveTheRunMayBeCalledAsAPhase) {
  run_ = folder_.path() / "2-whole" / "run";
  EXPECT_EQ(train(), 0);
  EXPECT_THAT([&] { resume((phase("1-head") / "checkpoints" / "step-00000001").string()); },
              testing::ThrowsMessage<base::Error>(HasSubstr("the phase whole has begun")));
}

TEST_F(PhasedRunTest, GoesOnInADirectoryThatALaterPhaseBegan) {
  const std::string expected = undisturbed();
  const fs::path other = folder_.path() / "undisturbed" / "phases";
  EXPECT_EQ(resume((other / "2-whole" / "checkpoints" / "step-00000005").string()), 0);
  fs::remove_all(phase("2-whole") / "checkpoints" / "step-00000008");
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("2-whole/checkpoints/step-00000007 at step 7"));
  EXPECT_EQ(weights(run_), expected);
}

TEST_F(PhasedRunTest, BeginsWithAPhaseFromTheWeightsThatAreNamed) {
  const std::string expected = undisturbed();
  const std::string first = (folder_.path() / "undisturbed" / "phases" / "1-head").string();
  const auto start = [&](const std::string& phase, const std::string& from) {
    return train(phased_base() + kTwoPhases, started_at(phase, from));
  };
  for (const std::string named : {"2", "whole"}) {
    fs::remove_all(run_);
    log_.clear();
    EXPECT_EQ(start(named, first + "@last"), 0);
    EXPECT_THAT(log_, HasSubstr("phase 2 of 2: whole, from " + first + "/checkpoints/"));
    EXPECT_EQ(weights(run_), expected);
    EXPECT_FALSE(fs::exists(phase("1-head")));
  }
  // The same words again go on with what the phase has saved.
  fs::remove_all(phase("2-whole") / "checkpoints" / "step-00000008");
  log_.clear();
  EXPECT_EQ(start("2", first + "@last"), 0);
  EXPECT_THAT(log_, HasSubstr("2-whole/checkpoints/step-00000007 at step 7"));
  EXPECT_EQ(weights(run_), expected);
  // A checkpoint of the phase itself is no other's weights.
  const fs::path whole = folder_.path() / "undisturbed" / "phases" / "2-whole";
  fs::remove_all(run_);
  EXPECT_EQ(start("2", (whole / "checkpoints" / "step-00000005").string()), 0);
  EXPECT_THAT(log_, HasSubstr("step-00000005 at step 5"));
  EXPECT_EQ(weights(run_), expected);
}

TEST_F(PhasedRunTest, APhaseToBeginWithWantsWeightsAndAPlace) {
  const std::string phased = phased_base() + kTwoPhases;
  const auto refusal = [&](const std::string& recipe, const std::string& phase,
                           const std::optional<std::string>& from) -> std::string {
    try {
      train(recipe, started_at(phase, from));
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(phased, "3", "x"), HasSubstr("head, whole"));
  EXPECT_THAT(refusal(phased, "head", "x"), HasSubstr("model.pretrained"));
  EXPECT_THAT(refusal(phased, "whole", std::nullopt), HasSubstr("--resume RUN@best"));
  EXPECT_THAT(refusal(phased, "2", "auto"), HasSubstr("auto alone"));
  EXPECT_THAT(refusal(phased_base(), "2", "x"), HasSubstr("has no phases"));
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(PhasedRunTest, EqualOnRanksAndUnderStrategiesThatShard) {
  EXPECT_EQ(train({"data.global_batch_size=4", "~phases.whole.data",
                   "++phases.head.parallel.strategy=hsdp", "++phases.whole.parallel.strategy=ddp"},
                  2),
            0)
      << log_;
  const auto report = [&] {
    std::optional<EvalReport> result;
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      result = run_evaluation({run_, {"parallel.strategy=none"}, {}},
                              {*registries_, communicator, files_, *interruption_, 1});
    });
    return result;
  }();
  EXPECT_EQ(report->step, 4);
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  EXPECT_NEAR(report->result.values.at("val/loss"),
              summary.at("phases")[1].at("summary").at("metrics").at("val/loss"), 1e-5);
}

TEST_F(PhasedRunTest, ADryRunPlansAllPhasesAndAFastOneTrainsThem) {
  TrainRequest request;
  request.is_dry_run = true;
  EXPECT_EQ(train(phased_base() + kTwoPhases, request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("phase 1 of 2: head"), HasSubstr("phase 2 of 2: whole"),
                          HasSubstr("nothing was trained")));
  request.is_dry_run = false;
  request.is_fast_dev_run = true;
  log_.clear();
  EXPECT_EQ(train(phased_base() + kTwoPhases, request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("phase 1 of 2: head"), HasSubstr("phase 2 of 2: whole, from "),
                          HasSubstr("1-head/checkpoints/step-00000002")));
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(PhasedRunTest, WhatIsWrongWithALaterPhaseIsToldBeforeTheFirst) {
  EXPECT_THAT([&] { train({"++phases.whole.model.freeze=['*']"}); },
              testing::ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("phase whole: "), HasSubstr("left to train"))));
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_THAT([&] { train({"++phases.head.data.val_path=elsewhere"}); },
              testing::Throws<base::ConfigError>())
      << "refused by its data";
  EXPECT_FALSE(fs::exists(run_)) << "it wrote nothing yet";
}

TEST_F(PhasedRunTest, PhasesThatHaveBegunKeepWhatTheyAre) {
  EXPECT_EQ(train(), 0);
  const std::string before = weights(run_);
  TrainRequest request;
  request.resume = "auto";
  const auto refusal = [&](const std::string& phases) -> std::string {
    try {
      train(phased_base() + phases, request);
    } catch (const base::Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("phases: {stem: {}, whole: {}}\n"),
              AllOf(HasSubstr("1-head is of a phase that the recipe has not"),
                    HasSubstr("expected 1-stem")));
  EXPECT_THAT(refusal("phases: {head: {}}\n"), Not("accepted"));
  EXPECT_THAT(refusal(""), HasSubstr("holds a run of phases, and the recipe has none"));
  EXPECT_THAT(refusal("phases: {head: {optimizer: adamw}, whole: {}}\n"),
              HasSubstr("optimizer.name"));
  EXPECT_EQ(weights(run_), before);
  run_ = folder_.path() / "plain";
  TrainRequest plain;
  train(phased_base(), plain);
  EXPECT_THAT([&] { resume(); },
              testing::ThrowsMessage<base::Error>(HasSubstr("holds a run without phases")));
  EXPECT_THAT([&] { train(); },
              testing::ThrowsMessage<base::Error>(HasSubstr("holds a run already")));
}

}  // namespace
}  // namespace paceline::app
