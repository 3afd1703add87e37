#include "paceline/train/watch/data_watch.h"

#include "paceline/base/log.h"
#include "rank/train/scripted_steps.h"
#include "support/run_ranks.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What three ranks report when they waited so much; rank 1's loader is held up by decoding.
std::vector<std::string> warnings(const std::vector<double>& shares, std::int64_t num_steps) {
  std::vector<std::string> told;
  std::mutex mutex;
  const base::LogRedirection redirection([&](base::LogLevel, std::string_view text) {
    const std::lock_guard lock(mutex);
    told.emplace_back(text);
  });
  paceline::test::run_ranks(3, [&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const CountsAlone loader(rank == 1 ? data::StageTimes{1, 5, 2, 10}
                                       : data::StageTimes{5, 1, 2, 10});
    DataWatch watch(loader);
    const metrics::PhaseTimer step = step_with_waits(shares[rank]);
    for (std::int64_t i = 0; i < num_steps; ++i) watch.add_step(step);
    EXPECT_NEAR(watch.report(communicator), std::ranges::max(shares), 1e-9);
    EXPECT_EQ(watch.report(communicator), 0) << "it starts anew";
  });
  return told;
}

TEST(DataWatch, NamesTheRankThatWaitsMostAndItsCure) {
  EXPECT_THAT(warnings({0.02, 0.4, 0.1}, 25),
              ElementsAre(AllOf(HasSubstr("rank 1 waited for data 40 % of the last 25 steps"),
                                HasSubstr("least of all ranks: 2 %"),
                                HasSubstr("decoding limits its loader: `paceline data pack"))));
}

TEST(DataWatch, NamesWhatAnyRankSkipped) {
  std::vector<std::string> told;
  const base::LogRedirection redirection(
      [&](base::LogLevel, std::string_view text) { told.emplace_back(text); });  // of rank 0 alone
  paceline::test::run_ranks(3, [&](comm::Communicator& communicator) {
    CountsAlone loader({});
    DataWatch watch(loader);
    if (communicator.rank() > 0) loader.skip(2, "broken.jpg: it is cut short");
    watch.report(communicator);
    watch.report(communicator);
  });
  EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("4 samples"), HasSubstr("broken.jpg"))));
}

TEST(DataWatch, IsSilentWhenItIsTolerableOrTooEarlyToSay) {
  EXPECT_THAT(warnings({0.02, 0.09, 0.0}, 25), IsEmpty());
  EXPECT_THAT(warnings({0.02, 0.9, 0.0}, 5), IsEmpty());
}

}  // namespace
}  // namespace paceline::train
