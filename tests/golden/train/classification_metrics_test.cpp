// What evaluations of classification measure, against torchmetrics and scikit-learn; see
// make_classification_metrics.py.

#include "paceline/train/tasks/classification.h"
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

constexpr std::int64_t kSamples = 61;
constexpr std::int64_t kMeasuredClasses = 7;

/// Samples [first, last) of the script.
struct Samples {
  Samples(bool is_tied, std::int64_t first, std::int64_t last) {
    const at::Tensor index = at::arange(first, last, at::kLong);
    const at::Tensor row = is_tied ? index % 20 : index;
    const at::Tensor cell = row.unsqueeze(1) * kMeasuredClasses + at::arange(kMeasuredClasses);
    outputs.set(kLogits, cell.to(at::kDouble).mul(0.7).add(20).sin().mul(2));
    const std::int64_t num_present = is_tied ? kMeasuredClasses - 1 : kMeasuredClasses;
    batch.fields.set(kLabels, (index * index * 3 + index.div(7, "floor")) % num_present);
    batch.size = last - first;
  }

  tensor::Fields outputs;
  Batch batch;
};

/// Of a few batches on each rank, of unlike sizes.
EvalMeasure::Measured measure_samples(const std::vector<std::string>& names, bool is_tied,
                                      comm::Communicator& communicator) {
  const nn::CrossEntropy loss({});
  const auto measure = make_classification_measure(names, loss, /*classes=*/true);
  constexpr std::int64_t kPart = 9;
  for (std::int64_t first = 0; first < kSamples; first += kPart) {
    const auto rank = first / kPart * 3 / 2 % communicator.world_size();
    if (rank != communicator.rank()) continue;
    const Samples samples(is_tied, first, std::min(kSamples, first + kPart));
    measure->add(samples.outputs, samples.batch);
  }
  return measure->finish(communicator);
}

void expect_table(const ClassTable& table, const json& golden) {
  ASSERT_EQ(std::ssize(table.classes), kMeasuredClasses);
  for (std::size_t c = 0; c < table.classes.size(); ++c) {
    const metrics::ClassCount& count = table.classes[c];
    EXPECT_EQ(count.samples, golden.at("samples").at(c).get<std::int64_t>());
    EXPECT_DOUBLE_EQ(count.precision(), golden.at("precision").at(c).get<double>());
    EXPECT_DOUBLE_EQ(count.recall(), golden.at("recall").at(c).get<double>());
    EXPECT_DOUBLE_EQ(count.f1(), golden.at("f1").at(c).get<double>());
    const at::Tensor row = table.confusions[static_cast<std::int64_t>(c)];
    const auto told = golden.at("confusions").at(c).get<std::vector<std::int64_t>>();
    EXPECT_TRUE(row.equal(at::tensor(told, at::kLong)));
  }
}

TEST(GoldenClassificationMetrics, AreThoseOfTorchmetricsAndScikitLearnOnAnyRanks) {
  const json golden =
      json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/classification_metrics.json"));
  ASSERT_EQ(golden.at("cases").size(), 2);
  for (const json& each : golden.at("cases")) {
    std::vector<std::string> names;
    for (const auto& [name, value] : each.at("values").items()) names.push_back(name);
    EvalMeasure::Measured alone;
    for (const int world_size : {1, 2, 3, 9}) {  // with 9 some have no sample
      SCOPED_TRACE(fmt::format("{} on {} ranks", each.at("kind").dump(), world_size));
      paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto measured = measure_samples(names, each.at("kind") == "tied", communicator);
        ASSERT_EQ(measured.values.size(), names.size());
        for (const auto& [name, value] : measured.values)
          paceline::test::expect_reference("metric " + name, "value on 1 to 9 ranks", value,
                                           each.at("values").at(name).get<double>(),
                                           name == "ece" ? 1e-6 : 1e-12);
        expect_table(measured.table.value(), each);
        if (world_size == 1) alone = measured;
        for (const auto& [name, value] : measured.values) {
          if (name == "ece") continue;
          EXPECT_EQ(value, alone.values.at(name)) << name << ", to the last bit";
        }
      });
    }
  }
}

}  // namespace
}  // namespace paceline::train
