#include "paceline/app/train_run.h"

#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/export/export_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/data/sources/synthetic.h"
#include "support/faulty_file_system.h"
#include "support/queued_device.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/app/tiny_recipe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

/// A data set that counts how often it is opened.
struct CountedConfig {
  int num_classes = 3;
};

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::CountedConfig> {
  using Config = paceline::app::CountedConfig;
  static constexpr std::string_view name = "counted";
  static constexpr std::string_view summary = "Counts how often it is opened.";
  static constexpr auto fields = std::tuple{field(&Config::num_classes, "num_classes", "Classes.")};
};

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A checkpoint after each second of the four steps.
std::string recipe_of_two_saves() { return tiny_recipe("{every: 2ba, keep_best: 0}"); }

class TrainRunTest : public ::testing::Test {
 protected:
  int train(TrainRequest request) {
    request.recipe = folder_.write("recipe.yaml", recipe_of_two_saves());
    if (!request.run_directory) request.run_directory = run_;
    int exit_code = -1;
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      exit_code = run_training(
          request, {*registries_, communicator, *file_system_, *interruption_, 1, 1, 1, *device_});
    });
    return exit_code;
  }
  int train(const std::vector<std::string>& overrides = {}) {
    TrainRequest request;
    request.overrides = overrides;
    return train(request);
  }
  int resume(const std::string& from = "auto") {
    TrainRequest request;
    request.resume = from;
    return train(request);
  }
  int train_elsewhere(const fs::path& run, const std::vector<std::string>& overrides = {}) {
    TrainRequest request;
    request.overrides = overrides;
    request.run_directory = run;
    return train(request);
  }

  std::optional<EvalReport> evaluate(const std::vector<std::string>& overrides = {},
                                     const std::string& weights = {}) {
    std::optional<EvalReport> report;
    paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
      auto result = run_evaluation({run_, overrides, weights},
                                   {*registries_, communicator, files_, *interruption_, 1});
      if (communicator.rank() == 0) report = std::move(result);
    });
    return report;
  }

  /// What metrics.jsonl tells, line by line, without times.
  static std::vector<std::string> logged(const fs::path& run) {
    std::vector<std::string> lines;
    std::istringstream metrics(base::read_file(run / "metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const nlohmann::json values = nlohmann::json::parse(line);
      std::string text = "step " + values.at("step").dump();
      for (const char* name :
           {"train/loss", "val/loss", "train/loss_scale", "train/skipped_steps"}) {
        if (values.contains(name)) text += fmt::format(" {} {}", name, values.at(name).dump());
      }
      lines.push_back(text);
    }
    return lines;
  }

  static std::string newest_weights(const fs::path& run) {
    return base::xxh3_128_hex(base::read_file(find_checkpoint(run) / "rank-0.safetensors"));
  }

  paceline::test::TempFolder folder_;
  fs::path run_ = folder_.path() / "run";
  paceline::test::UnsyncedFileSystem files_;
  base::FileSystem* file_system_ = &files_;
  std::unique_ptr<Registries> registries_ = make_registries();
  std::optional<base::Interruption> interruption_{std::in_place};
  tensor::Device* device_ = &tensor::cpu_device();
  std::string log_;
  base::LogRedirection redirection_{[this](base::LogLevel, std::string_view line) {
    log_ += line;
    log_ += '\n';
  }};
};

TEST_F(TrainRunTest, TheTrainingSetIsOpenedOnce) {
  std::vector<data::Split> opened;
  registries_->datasets.add<CountedConfig>([&](const CountedConfig& config) {
    data::SyntheticConfig images;
    images.num_classes = config.num_classes;
    images.size = 16;
    auto plan = registries_->datasets.build(config::Component::of("synthetic", images));
    plan->open = [&opened, open = plan->open](data::Split split, const auto& storage,
                                              const auto& val_path) {
      opened.push_back(split);
      return open(split, storage, val_path);
    };
    return plan;
  });
  TrainRequest request;
  request.overrides = {"data=counted"};
  request.is_dry_run = true;
  train(request);
  EXPECT_THAT(opened, ElementsAre(data::Split::kTrain, data::Split::kVal));
}

TEST_F(TrainRunTest, SaysWhatItIsAboutToDo) {
  TrainRequest request;
  request.overrides = {"train.grad_accum_steps=2"};
  request.is_dry_run = true;
  EXPECT_EQ(train(request), 0);
  // Patches 3*8*8*16 + 16, class token 16, positions 5*16, a block of 16 + 16, 3*256 + 48, 256 +
  // 16, 16 + 16, 1024 + 64, 1024 + 16, the last norm 16 + 16 and the head 5*16 + 5.
  EXPECT_THAT(
      log_,
      AllOf(
          HasSubstr("data: 7 training and 3 validation images, 5 classes, 16 x 16 pixels"),
          HasSubstr("model: vit, 6,581 parameters, channels-last"), HasSubstr("precision: fp32\n"),
          HasSubstr("batches: 4 images a step = 1 ranks x 4, in 2 microbatches of up to 2; 2 steps "
                    "an epoch, 4 in all"),
          HasSubstr(
              "sgd at learning rate 0.05, schedule cosine; strategy none; 1 threads per rank")));
  EXPECT_THAT(log_,
              AllOf(HasSubstr("trained parameters: 6,581"), HasSubstr("memory per rank"),
                    ContainsRegex("\n *none +1 +2 +25.8 KiB +25.8 KiB +25.8 KiB +0 B +[0-9.]+ KiB"
                                  " +[0-9.]+ KiB +72.0 KiB +[0-9.]+ KiB\n"),
                    ContainsRegex("\n *hsdp +1 +2 "), HasSubstr("nothing was trained")));
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(TrainRunTest, ADeviceThatQueuesAndReplaysItsWorkTrainsToTheSameBits) {
  const std::vector<std::string> overrides{"train.duration=5ep", "train.grad_accum_steps=2",
                                           "train.compile=graph"};
  EXPECT_EQ(train(overrides), 0);
  EXPECT_THAT(log_, HasSubstr("train.compile: graph has no effect: cpu cannot record its work"));

  // Beside itself: on the CPU a ViT's block is one operation of our own.
  paceline::test::QueuedDevice device;
  device_ = &device;
  run_ = folder_.path() / "queued";
  EXPECT_EQ(train(std::vector<std::string>{overrides[0], overrides[1]}), 0);
  const fs::path direct = std::exchange(run_, folder_.path() / "replayed");
  EXPECT_EQ(train(overrides), 0);
  EXPECT_EQ(logged(run_), logged(direct));
  EXPECT_EQ(newest_weights(run_), newest_weights(direct));
  // Of five whole batches three warm up; five smaller ones are never replayed.
  EXPECT_EQ(std::ranges::count(device.calls, "record"), 1);
  EXPECT_EQ(std::ranges::count(device.calls, "replay"), 2);
  EXPECT_THAT(log_, HasSubstr("device of rank 0: queued"));
}

TEST_F(TrainRunTest, SaysWhyAStepIsNotReplayed) {
  paceline::test::QueuedDevice device;
  device_ = &device;
  train(std::vector<std::string>{"train.compile=graph", "model.drop_rate=0.1"});
  EXPECT_THAT(log_, HasSubstr("graph has no effect: dropout and drop path draw anew"));
}

TEST_F(TrainRunTest, SaysWhatItComputesIn) {
  TrainRequest request;
  request.is_dry_run = true;
  request.overrides = {"train.precision=fp16", "train.grad_scaler.init_scale=1024"};
  train(request);
  EXPECT_THAT(log_, HasSubstr("precision: fp16 by autocast, weights and optimizer state fp32, loss "
                              "scaled by 1024 at first"));
}

TEST_F(TrainRunTest, AutoPrecisionBecomesWhatThisCpuIsFastAt) {
  const auto choice = train::choose_precision(train::Precision::kAuto, at::kCPU);
  const std::string name(config::enum_name(choice.precision));
  EXPECT_EQ(train(std::vector<std::string>{"train.precision=auto"}), 0);
  EXPECT_THAT(log_, HasSubstr("note: train.precision: auto is " + name + ": " + choice.reason));
  EXPECT_THAT(base::read_file(run_ / "config.yaml"), HasSubstr("precision: " + name))
      << "another machine that is fast at something else must not resume the run in that";
  const auto as_trained = evaluate()->result.values;
  EXPECT_EQ(evaluate({"train.precision=auto"})->result.values, as_trained);
}

TEST_F(TrainRunTest, EvaluatesInThePrecisionOfTheRecipe) {
  EXPECT_EQ(train(std::vector<std::string>{"train.precision=bf16"}), 0);
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  const double loss = evaluate()->result.values.at("val/loss");
  EXPECT_NEAR(loss, summary.at("metrics").at("val/loss"), 1e-6);
  EXPECT_NE(evaluate({"train.precision=fp32"})->result.values.at("val/loss"), loss);
}

TEST_F(TrainRunTest, ResumeGoesOnWithTheLossScale) {
  // So large a scale overflows at once; later it grows after each pair of good steps.
  const std::vector<std::string> overrides{
      "train.precision=fp16", "train.duration=16ba", "checkpoint.every=5ba",
      "checkpoint.keep_last=9", "train.grad_scaler={init_scale: 4e6, growth_interval: 2}"};
  EXPECT_EQ(train(overrides), 0);
  const std::vector<std::string> metrics = logged(run_);
  const std::string weights = newest_weights(run_);
  EXPECT_THAT(metrics, Contains(HasSubstr("train/skipped_steps 1")));
  for (const char* name : {"step-00000010", "step-00000015", "step-00000016"})
    ASSERT_GT(fs::remove_all(run_ / "checkpoints" / name), 0U) << name;
  TrainRequest request;
  request.overrides = overrides;
  request.resume = "auto";
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, HasSubstr("step-00000005 at step 5"));
  EXPECT_EQ(logged(run_), metrics);
  EXPECT_EQ(newest_weights(run_), weights);
}

TEST_F(TrainRunTest, AFastDevRunDoesEveryKindOfWorkAndLeavesNothing) {
  TrainRequest request;
  request.is_fast_dev_run = true;
  request.fast_dev_steps = 3;
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("saved "), HasSubstr("step-00000003"),
                          HasSubstr("done after step 3"), HasSubstr("val/loss")));
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(TrainRunTest, WhatCannotBeCopiedIsToldAndEndsNothing) {
  const fs::path to = folder_.path() / "far";
  paceline::test::FaultyFileSystem files([&](std::string_view operation, const fs::path& path) {
    return operation == "write" && path.string().starts_with(to.string()) ? ENOSPC : 0;
  });
  file_system_ = &files;
  const auto copy_to = [](const fs::path& folder) {
    return std::vector<std::string>{"++callbacks.copy_checkpoints.to=" + folder.string()};
  };
  EXPECT_EQ(train(copy_to(to)), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("callbacks.copy_checkpoints: cannot write"),
                          HasSubstr("done after step 4")));
  fs::remove_all(run_);
  EXPECT_EQ(train(copy_to(run_ / "copies")), 0);
  EXPECT_THAT(log_, HasSubstr("name a folder elsewhere"));
}

TEST_F(TrainRunTest, AFastDevRunCopiesNothing) {
  TrainRequest request;
  request.is_fast_dev_run = true;
  request.overrides = {"++callbacks.copy_checkpoints.to=" + (folder_.path() / "far").string()};
  EXPECT_EQ(train(request), 0);
  EXPECT_FALSE(fs::exists(folder_.path() / "far"));
}

TEST_F(TrainRunTest, TheSummaryTellsHowItEnded) {
  EXPECT_EQ(train(), 0);
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  EXPECT_EQ(summary.at("ended_by"), "duration");
  EXPECT_EQ(summary.at("steps"), 4);
  EXPECT_EQ(summary.at("epochs"), 2);
  EXPECT_EQ(summary.at("samples"), 14);
  EXPECT_EQ(summary.at("world_size"), 1);
  EXPECT_EQ(summary.at("skipped_samples"), 0);
  EXPECT_GT(summary.at("peak_resident_bytes_rank0"), 0);
  const auto& memory = summary.at("peak_memory");
  EXPECT_GT(memory.at("measured_bytes"), 3 * 6581 * 4) << "parameters, gradients and momentum";
  EXPECT_GT(memory.at("predicted_bytes"), 3 * 6581 * 4);
  EXPECT_THAT(log_, ContainsRegex("peak memory of a rank's tensors: [0-9.]+ KiB measured, [0-9.]+ "
                                  "KiB predicted"));
  EXPECT_TRUE(summary.at("metrics").contains("val/top1"));

  TrainRequest stopped;
  stopped.run_directory = folder_.path() / "stopped";
  stopped.overrides = {"train.stop_when='val/loss > 0'"};
  EXPECT_EQ(train(stopped), 0);
  const auto other =
      nlohmann::json::parse(base::read_file(folder_.path() / "stopped" / "summary.json"));
  EXPECT_EQ(other.at("ended_by"), "stop_when");
  EXPECT_EQ(other.at("ended_because"), "val/loss > 0 holds");
}

TEST_F(TrainRunTest, ASignalSavesTheRunAndIsTheExitCode) {
  interruption_->request(SIGTERM, std::chrono::hours(1));
  EXPECT_EQ(train(), 128 + SIGTERM);
  EXPECT_EQ(find_checkpoint(run_).filename(), "step-00000001");
  EXPECT_EQ(nlohmann::json::parse(base::read_file(run_ / "summary.json")).at("ended_by"), "signal");
  interruption_.emplace();
  EXPECT_EQ(resume(), 0);
  const fs::path whole = folder_.path() / "whole";
  train_elsewhere(whole);
  EXPECT_EQ(logged(run_), logged(whole));
  EXPECT_EQ(newest_weights(run_), newest_weights(whole));
}

TEST_F(TrainRunTest, ResumeCutsTheMetricsBackToTheCheckpoint) {
  train();
  const std::vector<std::string> metrics = logged(run_);
  const std::string weights = newest_weights(run_);
  fs::remove_all(run_ / "checkpoints" /
                 "step-00000004");  // as if killed after step 4, before it was saved
  log_.clear();
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("step-00000002 at step 2"));
  EXPECT_EQ(logged(run_), metrics);
  EXPECT_EQ(newest_weights(run_), weights);
}

TEST_F(TrainRunTest, ResumeWithoutACheckpointStartsAnew) {
  train();
  const std::vector<std::string> metrics = logged(run_);
  fs::remove_all(run_ / "checkpoints");
  EXPECT_THAT([&] { resume(); },
              testing::ThrowsMessage<base::Error>(HasSubstr("has ended, and no checkpoint of it")));
  EXPECT_EQ(logged(run_), metrics);
  fs::remove(run_ / "summary.json");  // as if killed before it had saved
  log_.clear();
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("holds no checkpoint yet: starting anew"));
  EXPECT_EQ(logged(run_), metrics) << "each step once";
}

TEST_F(TrainRunTest, ResumePassesOverADamagedCheckpoint) {
  train();
  const fs::path newest = find_checkpoint(run_);
  fs::resize_file(newest / "rank-0.safetensors", 100);
  log_.clear();
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_,
              AllOf(HasSubstr("warning: passed over the damaged checkpoint " + newest.string()),
                    HasSubstr("step-00000002 at step 2")));
  EXPECT_EQ(find_checkpoint(run_), newest) << "it is whole again";
}

TEST_F(TrainRunTest, ResumeFromAnotherRunsCheckpoint) {
  const fs::path whole = folder_.path() / "whole";
  train_elsewhere(whole);
  EXPECT_EQ(resume((whole / "checkpoints" / "step-00000002").string()), 0);
  EXPECT_EQ(newest_weights(run_), newest_weights(whole));
}

TEST_F(TrainRunTest, ResumeFromAnotherRunsCheckpointCanBeStoppedBeforeItsFirstSave) {
  const fs::path whole = folder_.path() / "whole";
  train_elsewhere(whole);
  TrainRequest request;
  request.resume = (whole / "checkpoints" / "step-00000002").string();
  request.overrides = {"checkpoint.every=100ep", "train.duration=2ba"};  // trains nothing
  EXPECT_EQ(train(request), 0);
  fs::remove_all(whole);
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(log_, HasSubstr("step-00000002 at step 2"));
}

/// Only a checksum sees it.
void flip_a_byte(const fs::path& file) {
  std::string bytes = base::read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  base::RealFileSystem().create(file)->write(bytes);
}

TEST_F(TrainRunTest, ADamagedNewestCheckpointCostsNoneOfTheOthers) {
  const fs::path whole = folder_.path() / "whole";
  train_elsewhere(whole, {"schedule=constant"});
  TrainRequest request;
  request.overrides = {"schedule=constant", "checkpoint.every=1ba", "checkpoint.keep_last=9",
                       "train.duration=3ba"};
  train(request);
  flip_a_byte(run_ / "checkpoints" / "step-00000003" / "rank-0.safetensors");
  request.overrides = {"schedule=constant", "checkpoint.every=1ba", "checkpoint.keep_last=1"};
  request.resume = "auto";
  log_.clear();
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("passed over the damaged checkpoint"),
                          HasSubstr("what was saved later, of step 3, lies in ")));
  EXPECT_TRUE(fs::exists(run_ / "checkpoints" / "branch-1" / "step-00000003"));
  EXPECT_TRUE(fs::exists(run_ / "checkpoints" / "step-00000002")) << "resumed from";
  EXPECT_FALSE(fs::exists(run_ / "checkpoints" / "step-00000001"));
  EXPECT_EQ(newest_weights(run_), newest_weights(whole));
}

TEST_F(TrainRunTest, OnlyDamagedCheckpointsAreNoReasonToStartAnew) {
  train();
  for (const auto& entry : fs::directory_iterator(run_ / "checkpoints")) {
    if (entry.is_directory()) fs::resize_file(entry.path() / "manifest.json", 10);
  }
  const std::vector<std::string> metrics = logged(run_);
  EXPECT_THROW(resume(), base::Error);
  EXPECT_EQ(logged(run_), metrics);
}

TEST_F(TrainRunTest, ResumeFollowsTheNewestBranch) {
  TrainRequest request;
  request.overrides = {"schedule=constant", "checkpoint.every=1ba", "checkpoint.keep_last=9"};
  train(request);
  request.resume = (run_ / "checkpoints" / "step-00000001").string();
  request.overrides.emplace_back("train.duration=2ba");
  EXPECT_EQ(train(request), 0);
  EXPECT_EQ(logged(run_).size(), 4u) << "the input, two steps and an evaluation";
  request.resume = "auto";
  request.overrides.pop_back();
  log_.clear();
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, HasSubstr("checkpoints/step-00000002 at step 2"));
  const fs::path whole = folder_.path() / "whole";
  train_elsewhere(whole, {"schedule=constant"});
  EXPECT_EQ(logged(run_), logged(whole));
  EXPECT_EQ(newest_weights(run_), newest_weights(whole));
  EXPECT_EQ(newest_weights(run_ / "checkpoints" / "branch-1"), newest_weights(whole));
}

/// Names and contents of all files of a run but its lock.
std::map<std::string, std::string> contents(const fs::path& run) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.is_regular_file() && entry.path().filename() != "lock")
      files[entry.path().string()] = base::read_file(entry.path());
  }
  return files;
}

TEST_F(TrainRunTest, ARefusedResumeChangesNothing) {
  train();
  const auto before = contents(run_);
  TrainRequest request;
  request.resume = "auto";
  for (const char* override :
       {"run.seed=4", "data.global_batch_size=2", "data.num_samples=8", "model.embed_dim=32"}) {
    request.overrides = {override};
    EXPECT_THROW(train(request), base::Error) << override;
    EXPECT_EQ(contents(run_), before) << override;
  }
  request.overrides = {};
  request.resume = (run_ / "checkpoints" / "step-00000009").string();
  EXPECT_THROW(train(request), base::Error);
  EXPECT_EQ(contents(run_), before);
}

TEST_F(TrainRunTest, TellsWhatIsOtherwiseThanBefore) {
  train();
  TrainRequest request;
  request.resume = "auto";
  request.overrides = {"train.duration=3ep", "data.num_threads=2"};
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("note: train.duration: was 2ep, is 3ep"),
                          HasSubstr("note: data.num_threads: was 1, is 2")));
}

TEST_F(TrainRunTest, GoesOnWithAnotherPurpose) {
  train();
  TrainRequest request;
  request.resume = "auto";
  request.overrides = {"train.duration=6ba",     "optimizer.lr=0.01",
                       "schedule=constant",      "train.precision=fp16",
                       "train.grad_clip_norm=1", "+callbacks.early_stop.patience=9"};
  EXPECT_EQ(train(request), 0);
  EXPECT_THAT(log_, AllOf(HasSubstr("note: optimizer.lr: was 0.05, is 0.01"),
                          HasSubstr("note: schedule.name: was cosine, is constant"),
                          HasSubstr("note: callbacks.early_stop: was absent"),
                          HasSubstr("done after step 6")));
  EXPECT_EQ(find_checkpoint(run_).filename(), "step-00000006");
}

TEST_F(TrainRunTest, ImagesThatAreAllOfOneSizeNeedNoCrop) {
  EXPECT_EQ(train({"data.eval_transforms=[normalize]",
                   "data.train_transforms=[random_horizontal_flip, normalize]"}),
            0);
}

TEST_F(TrainRunTest, TheBestCheckpointHasAName) {
  EXPECT_EQ(train({"checkpoint.keep_best=1", "checkpoint.monitor=val/loss", "checkpoint.mode=min",
                   "train.eval_every=1ba", "optimizer.lr=1"}),
            0);
  const auto best = nlohmann::json::parse(base::read_file(run_ / "summary.json")).at("best");
  const fs::path path = find_checkpoint(run_.string() + "@best");
  EXPECT_EQ(best.at("path"), path.string());
  EXPECT_EQ(path.filename(), checkpoint::checkpoint_name(best.at("step")));
  EXPECT_EQ(best.at("metric"), "val/loss");
  EXPECT_EQ(fs::read_symlink(run_ / "checkpoints" / "best"), path.filename());
  EXPECT_EQ(fs::read_symlink(run_ / "checkpoints" / "last"), "step-00000004");
  EXPECT_THAT(log_, HasSubstr("run@best"));
}

TEST_F(TrainRunTest, ANewRunStartsFromWeightsOfAnother) {
  train();
  TrainRequest request;
  request.run_directory = folder_.path() / "fine-tuned";
  request.overrides = {"model.pretrained=" + run_.string() + "@last", "optimizer.lr=0",
                       "train.duration=1ba"};
  EXPECT_EQ(train(request), 0);
  checkpoint::CheckpointReader before(find_checkpoint(run_));
  checkpoint::CheckpointReader after(find_checkpoint(*request.run_directory));
  EXPECT_TRUE(at::equal(before.tensor("head.weight"), after.tensor("head.weight")));
  fs::remove_all(run_);
  request.resume = "auto";
  request.overrides.back() = "train.duration=2ba";
  EXPECT_EQ(train(request), 0) << "its own checkpoint holds all weights";
}

TEST_F(TrainRunTest, AFullDiskForTheLoggersEndsNothing) {
  paceline::test::FaultyFileSystem files([](std::string_view operation, const fs::path& path) {
    return operation == "write" && path.filename() == "metrics.jsonl" ? ENOSPC : 0;
  });
  file_system_ = &files;
  EXPECT_EQ(train(), 0);
  EXPECT_THAT(log_, HasSubstr("the jsonl logger cannot write: cannot write"));
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  EXPECT_EQ(summary.at("steps"), 4);
  EXPECT_GE(summary.at("jsonl").at("lost_records"), 4);
  EXPECT_EQ(find_checkpoint(run_).filename(), "step-00000004");
}

TEST_F(TrainRunTest, EvaluatesWhatWasTrained) {
  train();
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  const auto report = evaluate();
  EXPECT_EQ(report->step, 4);
  EXPECT_EQ(report->result.samples, 3);
  EXPECT_NEAR(report->result.values.at("val/loss"), summary.at("metrics").at("val/loss"), 1e-6);
  EXPECT_EQ(evaluate({"data.num_val_samples=8"})->result.samples, 8);
  EXPECT_EQ(evaluate({"train.eval_batches=1", "data.batch_size_per_rank=1",
                      "data.global_batch_size=null"})
                ->result.samples,
            2);
  interruption_->request(SIGINT, std::chrono::hours(1));
  EXPECT_FALSE(evaluate().has_value());
}

TEST_F(TrainRunTest, EvaluatesAndExportsTheWeightsOfAnAlgorithmWhenAskedTo) {
  TrainRequest request;
  request.run_directory = run_;
  request.overrides = {"++algorithms.ema.half_life=2ba"};
  train(request);
  const auto summary = nlohmann::json::parse(base::read_file(run_ / "summary.json"));
  const auto& metrics = summary.at("metrics");
  EXPECT_NE(metrics.at("val_ema/loss"), metrics.at("val/loss"));
  EXPECT_NEAR(evaluate()->result.values.at("val/loss"), metrics.at("val/loss"), 1e-6);
  EXPECT_NEAR(evaluate({}, "ema")->result.values.at("val_ema/loss"), metrics.at("val_ema/loss"),
              1e-6);
  EXPECT_THAT([&] { evaluate({}, "swa"); },
              ::testing::ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr("no weights 'swa'"), HasSubstr("it has ema"))));

  checkpoint::CheckpointReader reader(find_checkpoint(run_));
  const fs::path file = folder_.path() / "average.safetensors";
  export_checkpoint(run_, "ema", file, files_);
  const auto exported = [&] {
    const checkpoint::SafetensorsFile weights(file);
    return weights.tensor(*weights.find("head.weight")).clone();
  };
  const at::Tensor average = exported();
  EXPECT_TRUE(average.equal(reader.tensor("algorithms.ema/head.weight")));
  EXPECT_FALSE(average.equal(reader.tensor("head.weight")));
  export_checkpoint(run_, "", file, files_);
  EXPECT_TRUE(exported().equal(reader.tensor("head.weight")));
}

TEST_F(TrainRunTest, EvaluatesTheAverageOfEachAlgorithmForItself) {
  train({"++algorithms.ema={half_life: 1ba}",
         "++algorithms.swa={start: 1ba, end: 4ba, interval: 1ba}", "train.eval_every=1ba"});
  std::vector<nlohmann::json> rows;
  std::istringstream metrics(base::read_file(run_ / "metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    if (row.contains("val/loss")) rows.push_back(std::move(row));
  }
  ASSERT_EQ(rows.size(), 4u);
  for (const nlohmann::json& row : std::span(rows).last(2)) {
    EXPECT_NE(row.at("val_ema/loss"), row.at("val/loss")) << row;
    EXPECT_NE(row.at("val_ema/loss"), row.at("val_swa/loss")) << row;
  }
  EXPECT_NE(rows[2].at("val_swa/loss"), rows[2].at("val/loss"));
  EXPECT_EQ(rows[3].at("val_swa/loss"), rows[3].at("val/loss")) << "it is loaded";
  EXPECT_NEAR(evaluate({}, "swa")->result.values.at("val_swa/loss"),
              rows[3].at("val/loss").get<double>(), 1e-6);
}

TEST_F(TrainRunTest, ARunCannotGoOnWithAnAlgorithmThatChangesTheNetwork) {
  train(std::vector<std::string>{"train.duration=2ba"});
  TrainRequest request;
  request.run_directory = run_;
  request.resume = "auto";
  request.overrides = {"++algorithms.blurpool.min_channels=2"};
  EXPECT_THAT([&] { train(request); },
              ::testing::ThrowsMessage<base::Error>(HasSubstr("algorithms.blurpool: was absent")));
}

TEST_F(TrainRunTest, StartsFromExportsOfEveryFormat) {
  train();
  const fs::path file = folder_.path() / "weights.pt";
  const fs::path hub = folder_.path() / "hub";
  export_checkpoint(run_, "", file, files_, checkpoint::WeightFormat::kTorch);
  const ExportReport report = export_hub_folder(run_, "", hub, files_, *registries_);
  EXPECT_EQ(report.notes.size(), 1u) << "timm has no such model";
  EXPECT_TRUE(fs::exists(hub / "README.md"));
  checkpoint::CheckpointReader before(find_checkpoint(run_));
  for (const fs::path& path : {file, hub}) {
    const fs::path run = folder_.path() / ("from-" + path.stem().string());
    train_elsewhere(run, {"model.pretrained=" + path.string(), "model.pretrained_strict=true",
                          "optimizer.lr=0", "train.duration=1ba"});
    checkpoint::CheckpointReader after(find_checkpoint(run));
    EXPECT_TRUE(at::equal(before.tensor("head.weight"), after.tensor("head.weight"))) << path;
  }
}

TEST_F(TrainRunTest, StartsFromExportedWeights) {
  train();
  const fs::path weights = folder_.path() / "weights.safetensors";
  export_checkpoint(run_, "", weights, files_);
  TrainRequest request;
  request.run_directory = folder_.path() / "fine-tuned";
  request.overrides = {"model.pretrained=" + weights.string(), "optimizer.lr=0",
                       "train.duration=1ba"};
  train(request);
  checkpoint::CheckpointReader before(find_checkpoint(run_));
  checkpoint::CheckpointReader after(find_checkpoint(*request.run_directory));
  EXPECT_TRUE(at::equal(before.tensor("head.weight"), after.tensor("head.weight")));
  request.run_directory = folder_.path() / "other-classes";
  request.overrides.push_back("model.num_classes=6");
  log_.clear();
  train(request);
  EXPECT_THAT(log_, HasSubstr("note: "));
}

TEST_F(TrainRunTest, RefusesPretrainedWeightsThatAreNotFinite) {
  train();
  const fs::path weights = folder_.path() / "weights.safetensors";
  checkpoint::CheckpointReader reader(find_checkpoint(run_));
  std::vector<checkpoint::NamedTensor> tensors;
  for (const auto& source : checkpoint::model_tensors(reader)) {
    tensors.push_back({source.name, source.load()});
    if (source.name == "head.weight") tensors.back().tensor[2][3] = std::nan("");
  }
  checkpoint::export_weights(files_, weights, tensors);
  TrainRequest request;
  request.run_directory = folder_.path() / "fine-tuned";
  request.overrides = {"model.pretrained=" + weights.string(), "train.duration=1ba"};
  EXPECT_THAT([&] { train(request); },
              ::testing::ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr(weights.string()), HasSubstr("NaN"), HasSubstr("head.weight"))));
  EXPECT_FALSE(fs::exists(*request.run_directory));
}

}  // namespace
}  // namespace paceline::app
