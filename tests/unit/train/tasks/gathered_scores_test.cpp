#include "paceline/train/tasks/gathered_scores.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(GatherValues, BringsAnyNumberOfEachRankTogether) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    const at::Tensor own = at::full({communicator.rank()}, communicator.rank(), at::kDouble);
    EXPECT_TRUE(
        gather_values(communicator, own).equal(at::tensor({1.0, 2.0, 2.0}).to(at::kDouble)));
    EXPECT_EQ(gather_values(communicator, own.narrow(0, 0, 0)).numel(), 0);
  });
}

TEST(GatheredScores, RanksTheSamplesOfAllRanks) {
  paceline::test::run_ranks(2, [](comm::Communicator& communicator) {
    GatheredScores scores;
    const bool is_first = communicator.rank() == 0;
    scores.add(
        at::tensor({0.9F, 0.1F, is_first ? 0.7F : 0.4F, is_first ? 0.3F : 0.6F}).view({2, 2}),
        at::tensor({is_first ? 0 : 1, 0}, at::kLong));
    // Of class 0 there are 0.9, 0.7 and 0.4, and one 0.9 that is none: 0.5 pairs of 3 are in order.
    EXPECT_DOUBLE_EQ(scores.mean_over_classes(communicator).auroc, 0.5 / 3);
  });
}

TEST(GatheredScores, RanksSamplesOfSeveralClasses) {
  const at::Tensor scores = at::tensor({0.9, 0.2, 0.4, 0.8, 0.6, 0.7}).view({3, 2});
  const at::Tensor is_of = at::tensor({1, 1, 0, 1, 1, 0}, at::kLong).view({3, 2}).to(at::kBool);
  for (const int ranks : {1, 2, 4}) {  // of four the last has no samples
    paceline::test::run_ranks(ranks, [&](comm::Communicator& communicator) {
      GatheredScores gathered;
      for (std::int64_t row = 0; row < 3; ++row) {
        if (row % ranks == communicator.rank())
          gathered.add(scores.narrow(0, row, 1), is_of.narrow(0, row, 1));
      }
      const metrics::RankingScores means = gathered.mean_over_classes(communicator);
      EXPECT_DOUBLE_EQ(means.auroc, (1.0 + 0.5) / 2);
      EXPECT_DOUBLE_EQ(means.average_precision, (1.0 + (1.0 + 2.0 / 3) / 2) / 2);
    });
  }
}

TEST(GatheredScores, OneRankThatKeepsTooMuchIsAnErrorOfAll) {
  paceline::test::run_ranks(2, [](comm::Communicator& communicator) {
    GatheredScores scores(/*most_bytes=*/std::uint64_t{1} << 20);
    const std::int64_t num_samples = communicator.rank() == 0 ? 1 : 300'000;
    scores.add(at::zeros({num_samples, 1}), at::zeros({num_samples}, at::kLong));
    EXPECT_THAT([&] { scores.mean_over_classes(communicator); },
                ThrowsMessage<base::ConfigError>(
                    AllOf(HasSubstr("more than 1 MiB"), HasSubstr("train.eval_batches"))));
  });
}

}  // namespace
}  // namespace paceline::train
