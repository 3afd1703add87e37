#include "paceline/train/watch/run_speed.h"

#include "rank/train/scripted_steps.h"
#include "support/run_ranks.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(RunSpeed, TellsTheSharesOfTheRankThatWaitsMost) {
  const std::vector<double> data_shares{0.1, 0.4, 0.2};
  const std::vector<double> communication_shares{0.3, 0.05, 0.1};
  paceline::test::run_ranks(3, [&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const bool waits_most = rank == 1;
    const CountsAlone loader(waits_most ? data::StageTimes{.read_s = 1, .decode_s = 3}
                                        : data::StageTimes{.read_s = 1});
    RunSpeed speed(loader);
    for (int step = 0; step < 3; ++step)
      speed.add_step(step_with_waits(data_shares[rank], communication_shares[rank]), 12);
    const SpeedReport report = speed.report(communicator);
    EXPECT_EQ(report.num_steps, 2);
    EXPECT_NEAR(report.data_wait_share, 0.4, 1e-9);
    EXPECT_NEAR(report.communication_share, 0.3, 1e-9);
  });
}

TEST(RunSpeed, LeavesOutTheFirstStep) {
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const CountsAlone loader({});
    RunSpeed speed(loader);
    EXPECT_EQ(speed.report(communicator).num_steps, 0);
    speed.add_step(step_with_waits(1), 1000);
    EXPECT_EQ(speed.report(communicator).num_steps, 0);
    EXPECT_EQ(speed.report(communicator).samples_per_s, 0);
    const metrics::PhaseTimer second = step_with_waits(0.25);
    speed.add_step(second, 8);
    const SpeedReport report = speed.report(communicator);
    EXPECT_NEAR(report.samples_per_s, 8 / second.total_seconds(), 1e-6);
    EXPECT_NEAR(report.data_wait_share, 0.25, 1e-9);
  });
}

// What a loader did before the first step ended counts for that step.
TEST(RunSpeed, NamesWhatLimitsTheLoader) {
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    CountsAlone loader({.read_s = 9});
    RunSpeed speed(loader);
    speed.add_step(step_with_waits(0.5), 8);
    loader.work({.read_s = 0.1, .transform_s = 0.2});
    speed.add_step(step_with_waits(0.5), 8);
    EXPECT_EQ(speed.report(communicator).loader_limit, data::LoaderStage::kTransform);
  });
}

}  // namespace
}  // namespace paceline::train
