#include "paceline/train/step_reduction.h"

#include "support/run_ranks.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(StepReduction, AddsMicrobatchesAndRanks) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    StepReduction reduction(communicator, 1);
    EXPECT_TRUE(reduction.any_lacks_next_batch()) << "nothing is known yet";
    const double counts[] = {2};
    reduction.add(1.5, 4, counts);
    reduction.add(0.5, 3, counts);
    reduction.add_skipped(static_cast<std::size_t>(communicator.rank()));
    reduction.start({.wants_stop = communicator.rank() == 1});
    reduction.finish();
    EXPECT_EQ(reduction.totals().loss_sum, 6.0);
    EXPECT_EQ(reduction.totals().samples, 21.0);
    EXPECT_EQ(reduction.totals().skipped, 3.0);
    EXPECT_THAT(reduction.totals().counts, ::testing::ElementsAre(12.0));
    EXPECT_TRUE(reduction.any_wants_stop());
    EXPECT_FALSE(reduction.any_misses_gradients());
    EXPECT_FALSE(reduction.any_not_finite());

    EXPECT_FALSE(reduction.any_lacks_next_batch());

    reduction.start({.misses_gradients = communicator.rank() == 2,
                     .lacks_next_batch = communicator.rank() == 0});
    reduction.finish();
    EXPECT_TRUE(reduction.any_misses_gradients());
    EXPECT_TRUE(reduction.any_lacks_next_batch());
    EXPECT_EQ(reduction.totals().samples, 0.0) << "each step starts from zero";
    EXPECT_EQ(reduction.totals().skipped, 0.0);
    EXPECT_FALSE(reduction.any_wants_stop());
  });
}

TEST(StepReduction, EveryRankLearnsOfALossThatIsNotFinite) {
  paceline::test::run_ranks(2, [](comm::Communicator& communicator) {
    StepReduction reduction(communicator, 0);
    const double loss = communicator.rank() == 0 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    reduction.add(loss, 1, {});
    reduction.start({});
    reduction.finish();
    EXPECT_TRUE(reduction.any_not_finite());
  });
}

}  // namespace
}  // namespace paceline::train
