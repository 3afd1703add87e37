#include "paceline/train/tasks/sample_records.h"

#include "support/run_ranks.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::run_ranks;

Batch batch_of(std::vector<std::int64_t> indices, const at::Tensor& labels) {
  Batch batch;
  batch.fields.set(kLabels, labels);
  batch.size = std::ssize(indices);
  batch.indices = std::move(indices);
  return batch;
}

TEST(SampleRecorder, KeepsWhatWasToldOfEachSampleInOrderOnAnyRanks) {
  const auto loss = nn::make(nn::CrossEntropyConfig{});
  const at::Tensor logits =
      at::tensor({0.0, 3.0, 1.0, 2.0, 2.0, 0.0, 5.0, 0.0, 0.0}, at::kFloat).view({3, 3});
  const at::Tensor labels = at::tensor({1, 2, 0}, at::kLong);
  for (const int ranks : {1, 3}) {  // of three the last has no samples
    run_ranks(ranks, [&](comm::Communicator& communicator) {
      SampleRecorder recorder(*loss, 2);
      const auto show = [&](std::int64_t row) {
        recorder.add({{"logits", logits.narrow(0, row, 1)}},
                     batch_of({10 * row}, labels.narrow(0, row, 1)));
      };
      if (communicator.rank() == 0) show(2);
      if (communicator.rank() == ranks / 2) {
        show(1);
        show(0);
      }
      recorder.finish(communicator);
      const SampleRecords& records = recorder.records();
      EXPECT_TRUE(records.indices.equal(at::tensor({0, 10, 20}, at::kLong)));
      EXPECT_TRUE(records.labels.equal(labels));
      EXPECT_TRUE(records.classes.equal(at::tensor({1, 2, 0, 1, 0, 1}, at::kLong).view({3, 2})))
          << records.classes;
      const double sum = std::exp(0.0) + std::exp(3.0) + std::exp(1.0);
      EXPECT_NEAR(records.probabilities[0][0].item<double>(), std::exp(3.0) / sum, 1e-6);
      EXPECT_NEAR(records.probabilities[0][1].item<double>(), std::exp(1.0) / sum, 1e-6);
      EXPECT_NEAR(records.losses[0].item<double>(), -std::log(std::exp(3.0) / sum), 1e-6);
      EXPECT_NEAR(records.losses[1].item<double>(), -std::log(1 / (2 * std::exp(2.0) + 1)), 1e-6);
    });
  }
}

TEST(SampleRecorder, KeepsNoMoreClassesThanThereAre) {
  const auto loss = nn::make(nn::CrossEntropyConfig{});
  run_ranks(1, [&](comm::Communicator& communicator) {
    SampleRecorder recorder(*loss, 9);
    recorder.add({{"logits", at::tensor({0.0F, 1.0F}).view({1, 2})}},
                 batch_of({0}, at::tensor({0}, at::kLong)));
    recorder.finish(communicator);
    EXPECT_EQ(recorder.records().classes.sizes(), at::IntArrayRef({1, 2}));
  });
}

}  // namespace
}  // namespace paceline::train
