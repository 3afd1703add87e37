#include "paceline/train/data_watch.h"

#include "paceline/base/log.h"
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

/// A loader that only tells what its threads did.
class CountsAlone final : public data::DataLoader {
 public:
  explicit CountsAlone(const data::StageTimes& stages) { counts_.stages = stages; }
  void skip(std::int64_t samples, const std::string& last) {
    counts_.skipped_samples += samples;
    counts_.last_skipped = last;
  }
  std::int64_t batches_per_epoch() const override { return 1; }
  std::int64_t position() const override { return 0; }
  void seek(std::int64_t) override {}
  void start() override {}
  bool is_ready() const override { return true; }
  std::unique_ptr<data::HostBatch> next() override { return nullptr; }
  data::LoaderCounts counts() const override { return counts_; }
  std::int64_t global_count_of(std::int64_t) const override { return 0; }

 private:
  data::LoaderCounts counts_;
};

/// A step of which `share` was spent waiting for data.
metrics::PhaseTimer step_with_wait(double share) {
  metrics::PhaseTimer phases;
  phases.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  phases.mark(metrics::Phase::kForward);
  const double seconds = phases.seconds(metrics::Phase::kForward);
  phases.move(metrics::Phase::kForward, metrics::Phase::kDataWait, share * seconds);
  return phases;
}

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
    const metrics::PhaseTimer step = step_with_wait(shares[rank]);
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
