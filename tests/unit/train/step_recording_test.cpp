#include "paceline/train/step_recording.h"

#include "paceline/base/error.h"
#include "paceline/nn/dropout.h"
#include "support/queued_device.h"
#include "unit/train/scripted_run.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::FakeGpu;
using paceline::test::QueuedDevice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::ThrowsMessage;

Batch batch_of(double value, std::int64_t global_size = 4, std::int64_t image_size = 3) {
  const at::TensorOptions there(FakeGpu::at(0).place());
  Batch batch;
  batch.fields.set(kImages, at::full({2, image_size}, value, there.dtype(at::kDouble)));
  batch.fields.set(kLabels, at::zeros({2}, there.dtype(at::kLong)));
  batch.size = 2;
  batch.global_size = global_size;
  return batch;
}

const StepRecording::Losses& run_of(StepRecording& recording, const Batch& batch) {
  return recording.run(std::span(&batch, 1), batch.global_size);
}

class StepRecordingTest : public ::testing::Test {
 protected:
  double run(double value, std::int64_t global_size = 4) {
    return run_of(recording_, batch_of(value, global_size)).front().item<double>();
  }

  QueuedDevice device_;
  StepRecording recording_{[this] { return device_.make_graph(); }, 4,
                           [this](std::span<const Batch> microbatches) {
                             ++num_queued_;
                             StepRecording::Losses losses;
                             for (const Batch& batch : microbatches) {
                               if (during_) during_(batch);
                               losses.push_back(batch.fields.at(kImages).sum());
                             }
                             return losses;
                           }};
  int num_queued_ = 0;
  std::function<void(const Batch& batch)> during_;  ///< the work
};

TEST_F(StepRecordingTest, RecordsAfterTheWarmUpAndReplaysOnNewValues) {
  for (int step = 1; step <= 6; ++step) EXPECT_EQ(run(step), 6.0 * step);
  EXPECT_THAT(device_.calls, ElementsAre("record", "replay", "replay", "replay"));
  EXPECT_EQ(num_queued_, 4) << "three warm-ups and the recording";
}

// What CUDA refuses while a stream is capturing the stand-in refuses, too.
TEST_F(StepRecordingTest, WhatAGpuRefusesToRecordEndsTheRun) {
  const at::Tensor pageable = at::ones({2, 3}, at::kDouble);
  at::Tensor on_host = at::empty({2, 3}, at::kDouble);
  const std::shared_ptr<void> memory = device_.allocate_host(8);
  const at::Tensor pinned = at::from_blob(memory.get(), {1}, at::kDouble);
  const std::map<std::string, std::function<void(const Batch&)>> refused{
      {"a value read back",
       [](const Batch& batch) { batch.fields.at(kImages).sum().item<double>(); }},
      {"a copy to the host", [&](const Batch& batch) { on_host.copy_(batch.fields.at(kImages)); }},
      {"a copy from the host",
       [&](const Batch& batch) { batch.fields.at(kImages).copy_(pageable); }},
      {"a size that only the device knows",
       [](const Batch& batch) { batch.fields.at(kImages).nonzero(); }},
      {"pinned memory", [this](const Batch&) { device_.allocate_host(8); }},
      {"a wait", [this](const Batch&) { device_.synchronize(); }},
      {"another stream", [&](const Batch&) { device_.start_transfer({pinned}); }}};
  for (const auto& [name, work] : refused) {
    StepRecording recording(
        [this] { return device_.make_graph(); }, 4,
        [&, &work = work](std::span<const Batch> microbatches) {
          work(microbatches.front());
          return StepRecording::Losses{microbatches.front().fields.at(kImages).sum()};
        });
    EXPECT_THAT(
        [&] {
          for (int step = 1; step <= 4; ++step) run_of(recording, batch_of(step));
        },
        ThrowsMessage<base::ConfigError>(HasSubstr("cannot be recorded")))
        << name;
  }
}

TEST_F(StepRecordingTest, WhatIsRecordedHasNotRun) {
  at::Tensor seen = at::zeros({}, batch_of(0).fields.at(kImages).options());
  during_ = [&](const Batch& batch) { seen.add_(batch.fields.at(kImages).sum()); };
  for (int step = 1; step <= 3; ++step) run(step);
  EXPECT_EQ(seen.item<double>(), 36.0);
  EXPECT_EQ(run(4), 24.0) << "recorded, then replayed: once";
  EXPECT_EQ(seen.item<double>(), 60.0);
}

TEST_F(StepRecordingTest, MemoryThatIsGoneIsNotReplayed) {
  auto seen = std::make_unique<at::Tensor>(at::zeros({}, batch_of(0).fields.at(kImages).options()));
  during_ = [&](const Batch& batch) { seen->add_(batch.fields.at(kImages).sum()); };
  for (int step = 1; step <= 4; ++step) run(step);
  seen.reset();
  EXPECT_THROW(run(5), c10::Error);
}

TEST_F(StepRecordingTest, ASmallerBatchRunsDirectlyAndLeavesTheRecordingAlone) {
  for (int step = 1; step <= 4; ++step) run(step);
  EXPECT_EQ(run(5, /*global_size=*/3), 30.0);
  EXPECT_EQ(run(6), 36.0);
  EXPECT_THAT(device_.calls, ElementsAre("record", "replay", "replay"));
}

TEST_F(StepRecordingTest, SmallerBatchesAreNoWarmUp) {
  for (int step = 1; step <= 5; ++step) run(step, /*global_size=*/3);
  run(6);
  EXPECT_TRUE(device_.calls.empty());
}

TEST_F(StepRecordingTest, ImagesOfAnotherSizeAreRecordedAnew) {
  for (int step = 1; step <= 5; ++step) run(step);
  for (int step = 6; step <= 11; ++step) {
    const auto& results = run_of(recording_, batch_of(step, 4, /*image_size=*/5));
    EXPECT_EQ(results.front().item<double>(), 10.0 * step);
  }
  EXPECT_THAT(device_.calls,
              ElementsAre("record", "replay", "replay", "record", "replay", "replay", "replay"));
}

TEST_F(StepRecordingTest, HoldsEachMicrobatchAndWhatAlgorithmsMadeOfIt) {
  for (int step = 1; step <= 5; ++step) {
    std::vector<Batch> microbatches{batch_of(step), batch_of(10 * step)};
    for (Batch& each : microbatches) each.fields.set("targets", each.fields.at(kImages) * 2);
    const auto& losses = recording_.run(microbatches, 4);
    EXPECT_EQ(losses[0].item<double>(), 6.0 * step);
    EXPECT_EQ(losses[1].item<double>(), 60.0 * step);
  }
  EXPECT_THAT(device_.calls, ElementsAre("record", "replay", "replay"));
}

TEST_F(StepRecordingTest, AnotherNumberOfSamplesIsRecordedAnew) {
  const auto run_with = [&](std::int64_t size) {
    Batch batch = batch_of(1);
    batch.fields = batch.fields.map([&](const auto& field) { return field.narrow(0, 0, size); });
    return run_of(recording_, batch).front().item<double>();
  };
  for (int step = 1; step <= 4; ++step) EXPECT_EQ(run_with(2), 6.0);
  for (int step = 1; step <= 4; ++step) EXPECT_EQ(run_with(1), 3.0) << "an algorithm left one";
  EXPECT_THAT(device_.calls, ElementsAre("record", "replay", "record", "replay"));
}

class BrokenRecording final : public tensor::DeviceGraph {
 public:
  void record(const std::function<void()>& /*work*/) override {
    TORCH_CHECK(false, "operation not permitted when stream is capturing");
  }
  void replay() override {}
};

TEST(StepRecording, WorkThatCannotBeRecordedEndsTheRunWithTheCure) {
  StepRecording recording(
      [] { return std::make_unique<BrokenRecording>(); }, 4,
      [](std::span<const Batch> microbatches) {
        return StepRecording::Losses{microbatches.front().fields.at(kImages).sum()};
      });
  for (int step = 1; step <= 3; ++step) run_of(recording, batch_of(step));
  EXPECT_THAT([&] { run_of(recording, batch_of(4)); },
              ThrowsMessage<base::ConfigError>(
                  ::testing::AllOf(HasSubstr("stream is capturing"), HasSubstr("compile: none"))));
}

class ObstacleTest : public ::testing::Test {
 protected:
  /// A callback at one event.
  class At final : public Callback {
   public:
    explicit At(Event event) : event_(event) {}
    std::string_view name() const override { return "watcher"; }
    CallbackTraits traits() const override { return {.events = {event_}}; }
    std::optional<std::string> on_event(Event, const TrainState&, const RunContext&) override {
      return std::nullopt;
    }

   private:
    Event event_;
  };

  std::optional<std::string> obstacle(Event event = Event::kStepEnd) {
    std::vector<std::unique_ptr<Callback>> callbacks;
    callbacks.push_back(std::make_unique<At>(event));
    return obstacle_to_recording(state_, Engine({}, std::move(callbacks)));
  }

  Calls calls_;
  TrainState state_ = [this] {
    TrainState state;
    state.task = std::make_unique<paceline::test::ScriptedTask>();
    state.strategy = std::make_unique<paceline::test::RecordingStrategy>(calls_);
    return state;
  }();
};

TEST_F(ObstacleTest, NothingStandsAgainstAPlainRun) { EXPECT_EQ(obstacle(), std::nullopt); }

TEST_F(ObstacleTest, NamesWhatChangesBetweenSteps) {
  EXPECT_THAT(obstacle(Event::kBeforeLoss), Optional(HasSubstr("watcher acts within the step")));
  state_.task->network().register_module("drop", std::make_shared<nn::Dropout>(0.1, 0));
  EXPECT_THAT(obstacle(), Optional(HasSubstr("dropout")));
  state_.scaler.emplace(optim::GradScalerConfig{});
  EXPECT_THAT(obstacle(), Optional(HasSubstr("fp16")));
  static_cast<paceline::test::ScriptedTask&>(*state_.task).is_recordable = false;
  EXPECT_THAT(obstacle(), Optional(HasSubstr("the task does not say")));
  static_cast<paceline::test::RecordingStrategy&>(*state_.strategy).is_recordable = false;
  EXPECT_THAT(obstacle(), Optional(HasSubstr("strategy recording")));
}

/// Does nothing but transform batches.
class OnlyTransforms final : public Algorithm {
 public:
  std::string_view name() const override { return "transforms"; }
  AlgorithmTraits traits() const override {
    return {.events = {Event::kStepStart}, .transforms_batches = true};
  }
  void apply(Event, TrainState&, const RunContext&) override {}
};

TEST_F(ObstacleTest, AnAlgorithmThatOnlyTransformsBatchesIsNone) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(std::make_unique<OnlyTransforms>());
  EXPECT_EQ(obstacle_to_recording(state_, Engine(std::move(algorithms), {})), std::nullopt);
}

TEST_F(ObstacleTest, DropoutOfRateZeroIsNone) {
  state_.task->network().register_module("drop", std::make_shared<nn::Dropout>(0.0, 0));
  EXPECT_EQ(obstacle(), std::nullopt);
}

}  // namespace
}  // namespace paceline::train
