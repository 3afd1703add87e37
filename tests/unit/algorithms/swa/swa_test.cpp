#include "paceline/algorithms/swa/swa.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/config/problems.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/train/tasks/classification.h"
#include "unit/algorithms/averaging_fixture.h"
#include "unit/algorithms/stepping_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using config::TimeUnit;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

class SwaTest : public AveragingFixture {
 protected:
  /// Steps up to `last`, whose weights are their numbers.
  void step_to(Swa& swa, std::int64_t last) {
    while (state_.clock.step < last) step(swa, static_cast<double>(state_.clock.step + 1));
  }
  double weight() const { return norm_->weight[0].item<double>(); }

  std::string log_;
  base::LogRedirection redirection_{
      [this](base::LogLevel, std::string_view line) { (log_ += line) += '\n'; }};
};

TEST_F(SwaTest, EndsWithThePlainMean) {
  Swa swa({.start = {2, TimeUnit::kBatch},
           .end = {9, TimeUnit::kBatch},
           .interval = {3, TimeUnit::kBatch}});
  fire(swa, Event::kPrepared);
  step_to(swa, 1);
  EXPECT_FALSE(swa.has_weights()) << "nothing was averaged yet";
  step_to(swa, 4);
  EXPECT_TRUE(swa.has_weights());
  EXPECT_EQ(average(swa), 2) << "the first at the start, whatever the interval";
  step_to(swa, 8);
  EXPECT_EQ(average(swa), 5) << "of steps 2, 5 and 8";
  EXPECT_EQ(average(swa, "running_mean"), 80) << "statistics are the last ones";
  EXPECT_EQ(swa.tensors(state_).size(), 4u) << "the count of batches is no average";
  EXPECT_EQ(weight(), 8);
  step_to(swa, 9);
  EXPECT_EQ(weight(), 5) << "the trained weights are the average";
  EXPECT_EQ(norm_->running_mean[0].item<double>(), 80);
  EXPECT_FALSE(swa.has_weights()) << "there are no others any more";
  EXPECT_THAT(log_, HasSubstr("the mean of 3 sets of weights is loaded after step 9"));
  step_to(swa, 12);
  EXPECT_EQ(weight(), 12) << "training goes on";
  EXPECT_EQ(average(swa), 5);
}

TEST_F(SwaTest, CountsEpochsWhateverStartAndEndAreCountedIn) {
  Swa swa({.start = {0.3, TimeUnit::kFraction},  // step 4: the second epoch's end is the next
           .end = {7, TimeUnit::kBatch}});
  fire(swa, Event::kPrepared);
  step_to(swa, 5);
  EXPECT_FALSE(swa.has_weights());
  step_to(swa, 8);
  EXPECT_EQ(average(swa), 6);
  EXPECT_EQ(weight(), 8);
  step_to(swa, 9);
  EXPECT_EQ(weight(), 7.5) << "of steps 6 and 9";
}

TEST_F(SwaTest, SwapsExactlyAndBack) {
  Swa swa({.start = {0, TimeUnit::kBatch},
           .end = {9, TimeUnit::kBatch},
           .interval = {1, TimeUnit::kBatch}});
  fire(swa, Event::kPrepared);
  for (const double value : {0.1, 0.7, 0.3}) step(swa, value);
  const double before = average(swa);
  swa.swap_weights(state_);
  EXPECT_EQ(weight(), before);
  EXPECT_EQ(average(swa), static_cast<double>(0.3f));
  swa.swap_weights(state_);
  EXPECT_EQ(norm_->weight[0].item<float>(), 0.3f);
  EXPECT_EQ(average(swa), before);
}

TEST_F(SwaTest, GoesOnFromItsStateAsIfNeverStopped) {
  const SwaConfig config{.start = {1, TimeUnit::kBatch},
                         .end = {7, TimeUnit::kBatch},
                         .interval = {2, TimeUnit::kBatch}};
  Swa whole(config);
  fire(whole, Event::kPrepared);
  step_to(whole, 4);
  Swa resumed(config);
  fire(resumed, Event::kPrepared);
  const auto saved = whole.tensors(state_);
  const auto loaded = resumed.tensors(state_);
  for (std::size_t i = 0; i < saved.size(); ++i) loaded[i].data.copy_(saved[i].data);
  resumed.load_state_dict(whole.state_dict());
  EXPECT_TRUE(resumed.has_weights());
  step_to(resumed, 7);
  EXPECT_EQ(weight(), 4) << "of steps 1, 3, 5 and 7";
  Swa late(config);
  fire(late, Event::kPrepared);
  late.load_state_dict(resumed.state_dict());
  step_to(late, 9);
  EXPECT_EQ(weight(), 9) << "it is loaded once";
}

TEST_F(SwaTest, ComesIntoARunThatIsPastItsEnd) {
  Swa swa({.start = {2, TimeUnit::kBatch},
           .end = {5, TimeUnit::kBatch},
           .interval = {2, TimeUnit::kBatch}});
  fire(swa, Event::kPrepared);
  state_.clock.step = 8;
  step(swa, 9);
  EXPECT_EQ(weight(), 9);
  EXPECT_FALSE(swa.has_weights());
}

TEST_F(SwaTest, RefusesTimesThatDoNotFitTheRun) {
  const auto refusal = [&](const SwaConfig& config, const char* words) {
    EXPECT_THAT(
        [&] {
          Swa swa(config);
          fire(swa, Event::kPrepared);
        },
        ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  refusal({.start = {0.5, TimeUnit::kFraction}, .end = {2, TimeUnit::kEpoch}},
          "end (2ep) must come after start (0.5dur), which are steps 6 and 6");
  refusal({.end = {5, TimeUnit::kEpoch}}, "loaded after step 15, and the run has 12");
  state_.clock.lengths.total_steps = 11;
  refusal({.end = {10, TimeUnit::kBatch}}, "loaded after step 12, and the run has 11");
  for (const config::Duration& interval :
       {config::Duration{0.5, TimeUnit::kEpoch}, config::Duration{0, TimeUnit::kBatch},
        config::Duration{1, TimeUnit::kSecond}})
    refusal({.interval = interval}, "algorithms.swa.interval is");
}

TEST_F(SwaTest, RefusesAnEndBeforeTheStartOfTheSameUnit) {
  config::Problems problems;
  config::Schema<SwaConfig>::validate(
      {.start = {0.9, TimeUnit::kFraction}, .end = {0.9, TimeUnit::kFraction}}, problems);
  EXPECT_THAT(problems.message(), HasSubstr("must come after start"));
}

/// A network with BatchNorms; only these are looked at.
std::unique_ptr<train::Task> task_with_norms(bool are_frozen) {
  auto network = std::make_shared<models::ResNet>(models::ResNetConfig{.num_classes = 5});
  nn::set_batch_norm_frozen(*network, are_frozen);
  return std::make_unique<train::ClassificationTask>(std::move(network), nullptr);
}

TEST_F(SwaTest, WarnsWhereStatisticsCannotFollowAndAreNotComputedAnew) {
  const auto warn = [&](const SwaConfig& config, bool freezes) {
    log_.clear();
    state_.task = task_with_norms(freezes);
    Swa swa(config);
    fire(swa, Event::kPrepared);
    return log_;
  };
  constexpr auto kNever = StatisticsRefresh::kNever;
  EXPECT_THAT(warn({.refresh = kNever}, false),
              HasSubstr("loaded after step 12 of 12, and less than an epoch"));
  EXPECT_EQ(warn({.refresh = kNever}, true), "");
  EXPECT_EQ(warn({.start = {2, TimeUnit::kEpoch}, .end = {3, TimeUnit::kEpoch}, .refresh = kNever},
                 false),
            "");
  EXPECT_EQ(warn({}, false), "");
}

TEST_F(SwaTest, AsksForNewStatisticsWhereTheyHaveLessThanAnEpochToFollow) {
  const auto asks_after_loading = [&](double end, StatisticsRefresh refresh, bool freezes) {
    state_.task = task_with_norms(freezes);
    state_.clock.step = 0;
    state_.wants_fresh_statistics = false;
    log_.clear();
    Swa swa({.start = {2, TimeUnit::kBatch},
             .end = {end, TimeUnit::kBatch},
             .interval = {1, TimeUnit::kBatch},
             .refresh = refresh});
    fire(swa, Event::kPrepared);
    step_to(swa, static_cast<std::int64_t>(end) - 1);
    EXPECT_FALSE(state_.wants_fresh_statistics) << "nothing is loaded yet";
    step_to(swa, static_cast<std::int64_t>(end));
    return state_.wants_fresh_statistics;
  };
  using enum StatisticsRefresh;
  EXPECT_FALSE(asks_after_loading(9, kAuto, false)) << "an epoch is left";
  EXPECT_TRUE(asks_after_loading(10, kAuto, false));
  EXPECT_THAT(log_, HasSubstr("after step 10; a pass over the training data gives BatchNorm"));
  EXPECT_TRUE(asks_after_loading(12, kAuto, false));
  EXPECT_TRUE(asks_after_loading(9, kAlways, false));
  EXPECT_FALSE(asks_after_loading(12, kNever, false));
  EXPECT_FALSE(asks_after_loading(12, kAuto, true)) << "nothing moves";
  EXPECT_FALSE(asks_after_loading(12, kAlways, true));
  state_.clock.lengths.total_steps = 0;  // a run of so many hours
  EXPECT_TRUE(asks_after_loading(4, kAuto, false));
}

TEST(SwaInTheOptimizersPass, HasTheBitsOfOneAfterIt) {
  const SwaConfig config{.start = {2, TimeUnit::kBatch},
                         .end = {9, TimeUnit::kBatch},
                         .interval = {3, TimeUnit::kBatch},
                         .refresh = StatisticsRefresh::kNever};
  const SteppingRun joined(make(config), /*meets_others=*/true);
  const SteppingRun apart(make(config), /*meets_others=*/false);
  EXPECT_EQ(joined.num_asked(), 2) << "of steps 2, 5 and 8, the first of which is copied";
  EXPECT_EQ(apart.num_asked(), 0);
  EXPECT_TRUE(joined.equals(apart)) << "also after the average was loaded";
  const SteppingRun beside(make(config), /*meets_others=*/true, /*has_writer=*/true);
  EXPECT_EQ(beside.num_asked(), 0);
}

}  // namespace
}  // namespace paceline::algorithms
