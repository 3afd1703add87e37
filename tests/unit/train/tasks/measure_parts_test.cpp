#include "paceline/train/tasks/measure_parts.h"

#include "paceline/train/tasks/classification.h"
#include "support/run_ranks.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(LossPercent, IsThatOfTheName) {
  EXPECT_EQ(loss_percent("loss_p95"), 95);
  EXPECT_EQ(loss_percent("loss_p99.5"), 99.5);
  for (const char* name : {"", "loss_p", "loss_p-1", "loss_p101", "loss_pnan", "loss_p5x", "p95"})
    EXPECT_EQ(loss_percent(name), std::nullopt) << name;
}

TEST(SumsOverRanks, KnowTheirSizeWhereARankHasNone) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    SumsOverRanks sums;
    if (communicator.rank() > 0) {
      sums.add(at::tensor({1, 2, 3, 4}, at::kLong));
      sums.add(at::tensor({0, 0, 0, 1}, at::kLong));
    }
    const at::Tensor all = sums.over_ranks(communicator, 2, at::kLong);
    EXPECT_TRUE(all.equal(at::tensor({2, 4, 6, 10}, at::kLong).view({2, 2})));
  });
}

TEST(LossPercentiles, AreOfTheSamplesThatCountOnAllRanks) {
  const nn::CrossEntropy loss({});
  const at::Tensor logits = at::tensor({0.0, 1.0, 0.0, 3.0, 2.0, 0.0}).view({3, 2});
  const at::Tensor labels = at::tensor({1, -100, 0}, at::kLong);
  const at::Tensor losses = loss.per_sample(logits, labels);
  paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
    LossPercentiles percentiles({"loss_p0", "loss_p100"}, loss);
    if (communicator.rank() == 0) percentiles.add({logits, labels, labels});
    EvalMeasure::Measured measured;
    percentiles.finish(communicator, measured);
    EXPECT_NEAR(measured.values.at("loss_p0"), losses[2].item<double>(), 1e-7);
    EXPECT_NEAR(measured.values.at("loss_p100"), losses[0].item<double>(), 1e-7);
  });
}

}  // namespace
}  // namespace paceline::train
