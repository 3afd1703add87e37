#include "paceline/train/step_recording.h"

#include "paceline/base/error.h"
#include "paceline/nn/dropout.h"
#include "support/queued_device.h"
#include "unit/train/scripted_run.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::QueuedDevice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::ThrowsMessage;

Batch batch_of(double value, std::int64_t global_size = 4, std::int64_t image_size = 3) {
  Batch batch;
  batch.inputs = at::full({2, image_size}, value, at::kDouble);
  batch.targets = at::zeros({2}, at::kLong);
  batch.size = 2;
  batch.global_size = global_size;
  return batch;
}

class StepRecordingTest : public ::testing::Test {
 protected:
  double run(double value, std::int64_t global_size = 4) {
    return recording_.run(batch_of(value, global_size)).front().item<double>();
  }

  QueuedDevice device_;
  std::vector<const void*> addresses_;  ///< that the queued work read from
  StepRecording recording_{
      [this] { return device_.make_recorded_work(); }, 4,
      [this](const Batch& batch) {
        addresses_.push_back(batch.inputs.const_data_ptr());
        return StepRecording::Losses{batch.inputs.sum()};
      }};
};

TEST_F(StepRecordingTest, RecordsAfterTheWarmUpAndReplaysOnNewValues) {
  for (int step = 1; step <= 6; ++step) EXPECT_EQ(run(step), 6.0 * step);
  EXPECT_THAT(device_.calls, ElementsAre("record", "replay", "replay", "replay"));
  EXPECT_EQ(addresses_[3], addresses_[4]);
  EXPECT_EQ(addresses_[4], addresses_[5]);
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
    const auto& results = recording_.run(batch_of(step, 4, /*image_size=*/5));
    EXPECT_EQ(results.front().item<double>(), 10.0 * step);
  }
  EXPECT_THAT(device_.calls,
              ElementsAre("record", "replay", "replay", "record", "replay", "replay", "replay"));
}

class BrokenRecording final : public tensor::RecordedWork {
 public:
  void record(const std::function<void()>& /*work*/) override {
    TORCH_CHECK(false, "operation not permitted when stream is capturing");
  }
  void replay() override {}
};

TEST(StepRecording, WorkThatCannotBeRecordedEndsTheRunWithTheCure) {
  StepRecording recording(
      [] { return std::make_unique<BrokenRecording>(); }, 4,
      [](const Batch& batch) {
        return StepRecording::Losses{batch.inputs.sum()};
      });
  for (int step = 1; step <= 3; ++step) recording.run(batch_of(step));
  EXPECT_THAT([&] { recording.run(batch_of(4)); },
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
    EventSet events() const override { return {event_}; }
    std::optional<std::string> on_event(Event, const TrainState&, const RunContext&) override {
      return std::nullopt;
    }
    nlohmann::json state_dict() const override { return {}; }
    void load_state_dict(const nlohmann::json&) override {}

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
    state.model = std::make_unique<paceline::test::ScriptedModel>();
    state.strategy = std::make_unique<paceline::test::RecordingStrategy>(calls_);
    return state;
  }();
};

TEST_F(ObstacleTest, NothingStandsAgainstAPlainRun) { EXPECT_EQ(obstacle(), std::nullopt); }

TEST_F(ObstacleTest, NamesWhatChangesBetweenSteps) {
  EXPECT_THAT(obstacle(Event::kBeforeLoss), Optional(HasSubstr("watcher acts within the step")));
  state_.model->network().register_module("drop", std::make_shared<nn::Dropout>(0.1, 0));
  EXPECT_THAT(obstacle(), Optional(HasSubstr("dropout")));
  state_.scaler.emplace(optim::GradScalerConfig{});
  EXPECT_THAT(obstacle(), Optional(HasSubstr("fp16")));
  static_cast<paceline::test::RecordingStrategy&>(*state_.strategy).is_recordable = false;
  EXPECT_THAT(obstacle(), Optional(HasSubstr("strategy recording")));
}

TEST_F(ObstacleTest, DropoutOfRateZeroIsNone) {
  state_.model->network().register_module("drop", std::make_shared<nn::Dropout>(0.0, 0));
  EXPECT_EQ(obstacle(), std::nullopt);
}

}  // namespace
}  // namespace paceline::train
