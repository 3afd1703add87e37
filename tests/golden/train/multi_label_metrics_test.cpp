// What evaluations of multi_label measure, against torchmetrics and scikit-learn; see
// make_multi_label_metrics.py.

#include "paceline/nn/losses/binary_cross_entropy.h"
#include "paceline/train/tasks/multi_label.h"
#include "support/parity.h"
#include "support/run_ranks.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

using nlohmann::json;

constexpr std::int64_t kSetSamples = 53;
constexpr std::int64_t kSetClasses = 6;
constexpr double kSetThreshold = 0.4;

/// Samples [first, last) of the script.
struct SetSamples {
  SetSamples(bool is_rare, std::int64_t first, std::int64_t last) {
    const at::Tensor index = at::arange(first, last, at::kLong).unsqueeze(1);
    const at::Tensor classes = at::arange(kSetClasses, at::kLong);
    const at::Tensor cell = (is_rare ? index % 20 : index) * kSetClasses + classes;
    outputs.set(kLogits, cell.to(at::kDouble).mul(0.7).add(20).sin().mul(2));
    const at::Tensor number = index * index * 3 + index.div(7, "floor") + classes * index * 5;
    const at::Tensor told = outputs.at(kLogits).sigmoid().gt(kSetThreshold);
    at::Tensor targets = at::where((index % 5).eq(0), told, (number % 3).eq(0)).to(at::kDouble);
    if (is_rare) targets.select(1, kSetClasses - 1).zero_();
    batch.fields.set(kTargets, targets);
    batch.size = last - first;
  }

  tensor::Fields outputs;
  Batch batch;
};

/// Of a few batches on each rank, of unlike sizes.
EvalMeasure::Measured measure_sets(const std::vector<std::string>& names, bool is_rare,
                                   comm::Communicator& communicator) {
  const nn::BinaryCrossEntropy loss({});
  const auto measure = make_multi_label_measure(names, loss, kSetThreshold, /*classes=*/true);
  constexpr std::int64_t kPart = 9;
  for (std::int64_t first = 0; first < kSetSamples; first += kPart) {
    const auto rank = first / kPart * 3 / 2 % communicator.world_size();
    if (rank != communicator.rank()) continue;
    const SetSamples samples(is_rare, first, std::min(kSetSamples, first + kPart));
    measure->add(samples.outputs, samples.batch);
  }
  return measure->finish(communicator);
}

void expect_classes(const std::vector<metrics::ClassCount>& classes, const json& golden) {
  ASSERT_EQ(std::ssize(classes), kSetClasses);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    EXPECT_EQ(classes[c].samples, golden.at("samples").at(c).get<std::int64_t>());
    EXPECT_DOUBLE_EQ(classes[c].precision(), golden.at("precision").at(c).get<double>());
    EXPECT_DOUBLE_EQ(classes[c].recall(), golden.at("recall").at(c).get<double>());
    EXPECT_DOUBLE_EQ(classes[c].f1(), golden.at("f1").at(c).get<double>());
  }
}

json golden_cases() {
  return json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/multi_label_metrics.json")).at("cases");
}

TEST(GoldenMultiLabelMetrics, AreThoseOfTorchmetricsAndScikitLearnOnAnyRanks) {
  const json golden = golden_cases();
  ASSERT_EQ(golden.size(), 2);
  for (const json& each : golden) {
    std::vector<std::string> names;
    for (const auto& [name, value] : each.at("values").items()) names.push_back(name);
    for (const int world_size : {1, 2, 3, 9}) {  // with 9 some have no sample
      SCOPED_TRACE(fmt::format("{} on {} ranks", each.at("kind").dump(), world_size));
      paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto measured = measure_sets(names, each.at("kind") == "rare", communicator);
        ASSERT_EQ(measured.values.size(), names.size());
        for (const auto& [name, value] : measured.values)
          paceline::test::expect_reference("multi-label metric " + name, "value on 1 to 9 ranks",
                                           value, each.at("values").at(name).get<double>(), 1e-12);
        expect_classes(measured.table.value().classes, each);
      });
    }
  }
}

TEST(GoldenMultiLabelMetrics, OfStepsAreTheSame) {
  MultiLabelTask task(nullptr, nullptr, {.threshold = kSetThreshold});
  for (const json& each : golden_cases()) {
    const SetSamples all(each.at("kind") == "rare", 0, kSetSamples);
    const at::Tensor sums = task.sums(all.outputs, all.batch);
    EXPECT_DOUBLE_EQ((sums[0] / sums[1]).item<double>(),
                     each.at("values").at("f1_micro").get<double>());
    EXPECT_DOUBLE_EQ(sums[2].item<double>() / kSetSamples, each.at("exact_match").get<double>());
  }
}

}  // namespace
}  // namespace paceline::train
