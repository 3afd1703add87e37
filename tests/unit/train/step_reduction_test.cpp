#include "paceline/train/step_reduction.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "support/queued_device.h"
#include "support/run_ranks.h"

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(StepReduction, ScalarsAreMeansOverTheSamplesOfAllRanks) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    StepReduction reduction(communicator, {.metrics = 1, .scalars = 2});
    const int rank = communicator.rank();
    for (int step = 0; step < 2; ++step) {  // which begins anew
      reduction.add_batch(rank, 0);         // rank 0 has none
      reduction.add(at::scalar_tensor(1.0), at::full({1}, 2, at::kDouble));
      const double of_rank = rank == 0 ? std::numeric_limits<double>::quiet_NaN() : rank + step;
      reduction.start({}, std::array{of_rank, 4.0});
      reduction.finish();
      reduction.read();
      EXPECT_THAT(reduction.totals().scalars,
                  ::testing::ElementsAre(::testing::DoubleEq((1 + 2 * 2) / 3.0 + step), 4.0));
      EXPECT_THAT(reduction.totals().sums, ::testing::ElementsAre(6.0));
    }
  });
}

TEST(StepReduction, ScalarsComeWithTheOneWaitOfAQueuedDevice) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  paceline::test::QueuedDevice device;
  StepReduction reduction(*communicator, {.scalars = 1}, device);
  for (const double scalar : {0.25, 0.75}) {
    device.gpu().reset_counts();
    reduction.add_batch(2, 0);
    reduction.add(at::ones({}, at::TensorOptions(device.place())), {});
    reduction.start({}, std::array{scalar});
    reduction.finish();
    EXPECT_EQ(device.gpu().counts().waits, 0);
    reduction.read();
    EXPECT_EQ(device.gpu().counts().waits, 1);
    EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
    EXPECT_THAT(reduction.totals().scalars, ::testing::ElementsAre(scalar));
    EXPECT_FALSE(reduction.is_skipped());
  }
}

TEST(StepReduction, AddsMicrobatchesAndRanks) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    StepReduction reduction(communicator, {.metrics = 1});
    EXPECT_TRUE(reduction.any_lacks_next_batch()) << "nothing is known yet";
    const at::Tensor counts = at::full({1}, 2, at::kDouble);
    reduction.add_batch(7, static_cast<std::size_t>(communicator.rank()));
    reduction.add(at::scalar_tensor(1.5), counts);
    reduction.add(at::scalar_tensor(0.5), counts);
    reduction.start({.wants_stop = communicator.rank() == 1});
    reduction.finish();
    reduction.read();
    EXPECT_EQ(reduction.totals().loss_sum, 6.0);
    EXPECT_EQ(reduction.totals().samples, 21.0);
    EXPECT_EQ(reduction.totals().skipped, 3.0);
    EXPECT_THAT(reduction.totals().sums, ::testing::ElementsAre(12.0));
    EXPECT_TRUE(reduction.any_wants_stop());
    EXPECT_FALSE(reduction.any_misses_gradients());
    EXPECT_FALSE(reduction.any_not_finite());

    EXPECT_FALSE(reduction.any_lacks_next_batch());

    reduction.start({.misses_gradients = communicator.rank() == 2,
                     .lacks_next_batch = communicator.rank() == 0});
    reduction.finish();
    reduction.read();
    EXPECT_TRUE(reduction.any_misses_gradients());
    EXPECT_TRUE(reduction.any_lacks_next_batch());
    EXPECT_EQ(reduction.totals().samples, 0.0) << "each step starts from zero";
    EXPECT_EQ(reduction.totals().skipped, 0.0);
    EXPECT_FALSE(reduction.any_wants_stop());
  });
}

TEST(StepReduction, EveryRankLearnsOfALossThatIsNotFinite) {
  paceline::test::run_ranks(2, [](comm::Communicator& communicator) {
    StepReduction reduction(communicator, {});
    const double loss = communicator.rank() == 0 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    reduction.add(at::scalar_tensor(loss), {});
    reduction.start({});
    reduction.finish();
    EXPECT_TRUE(reduction.must_skip({}, {}).is_nonzero());
    reduction.read();
    EXPECT_TRUE(reduction.any_not_finite());
    EXPECT_TRUE(reduction.is_skipped());
    EXPECT_FALSE(reduction.overflows());
  });
}

TEST(StepReduction, AStepIsNotAppliedForWhateverIsNotFinite) {
  paceline::test::run_ranks(1, [](comm::Communicator& communicator) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto is_skipped = [&](double loss, std::optional<float> overflows,
                                std::optional<double> norm, bool misses_gradients = false) {
      StepReduction reduction(communicator, {});
      reduction.add(at::scalar_tensor(loss), {});
      reduction.start({.misses_gradients = misses_gradients});
      reduction.finish();
      const at::Tensor skip =
          reduction.must_skip(overflows ? at::scalar_tensor(*overflows, at::kFloat) : at::Tensor(),
                              norm ? at::scalar_tensor(*norm, at::kDouble) : at::Tensor());
      if (skip.defined()) {
        EXPECT_EQ(skip.scalar_type(), at::kFloat) << "as fused kernels want it";
      }
      reduction.read();
      EXPECT_EQ(reduction.is_skipped(), skip.defined() && skip.is_nonzero());
      EXPECT_EQ(reduction.overflows(), overflows == 1.0F);
      EXPECT_EQ(reduction.grad_norm(), norm);
      return reduction.is_skipped();
    };
    EXPECT_FALSE(is_skipped(1.0, std::nullopt, std::nullopt));
    EXPECT_FALSE(is_skipped(1.0, 0.0F, 3.0));
    EXPECT_TRUE(is_skipped(1.0, 1.0F, 3.0));
    EXPECT_TRUE(is_skipped(1.0, 0.0F, kInfinity));
    EXPECT_TRUE(is_skipped(1.0, std::nullopt, kInfinity));
    EXPECT_TRUE(is_skipped(-kInfinity, 0.0F, 3.0));
    EXPECT_TRUE(is_skipped(1.0, std::nullopt, std::nullopt, /*misses_gradients=*/true));
  });
}

}  // namespace
}  // namespace paceline::train
