#include "paceline/callbacks/memory_snapshot.h"

#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/queued_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::callbacks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MemorySnapshotTest : public ::testing::Test {
 protected:
  void fit(int rank, tensor::Device& device) {
    const auto communicator = comm::make_fake_communicator(rank, 2);
    const train::RunContext run{*communicator, {}, 1, {}, signal_, device};
    train::TrainState state;
    MemorySnapshot snapshot({.step = 2});
    snapshot.on_event(train::Event::kFitStart, state, run);
    for (state.clock.step = 1; state.clock.step <= 4; ++state.clock.step) {
      if (!snapshot.traits().includes(train::Event::kStepEnd, state.clock)) continue;
      snapshot.on_event(train::Event::kStepEnd, state, run);
    }
  }

  std::atomic<int> signal_{0};
  paceline::test::QueuedDevice device_;
};

TEST_F(MemorySnapshotTest, RecordsFromTheStartAndWritesAfterItsStep) {
  fit(0, device_);
  EXPECT_THAT(device_.calls, ElementsAre("history", "snapshot memory_snapshot.pickle"));
}

TEST_F(MemorySnapshotTest, OnlyRankZeroWrites) {
  fit(1, device_);
  EXPECT_THAT(device_.calls, IsEmpty());
}

TEST_F(MemorySnapshotTest, SaysThatTheCpuHasNothingToShow) {
  std::string log;
  const base::LogRedirection redirection(
      [&](base::LogLevel, std::string_view line) { log += line; });
  fit(0, tensor::cpu_device());
  EXPECT_THAT(log, HasSubstr("memory_snapshot: cpu has no memory of its own"));
}

}  // namespace
}  // namespace paceline::callbacks
