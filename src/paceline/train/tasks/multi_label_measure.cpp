#include "paceline/train/tasks/multi_label_measure.h"

#include "paceline/base/text.h"
#include "paceline/train/tasks/classification.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace paceline::train {
namespace {

using metrics::Average;
using metrics::ClassCount;

constexpr std::string_view kLabelAccuracy = "label_accuracy";
constexpr std::array kClassSetAverages{
    metrics::ClassAverage{"precision_micro", &ClassCount::precision, Average::kMicro},
    metrics::ClassAverage{"precision_macro", &ClassCount::precision, Average::kMacroOfAll},
    metrics::ClassAverage{"precision_weighted", &ClassCount::precision, Average::kWeighted},
    metrics::ClassAverage{"recall_micro", &ClassCount::recall, Average::kMicro},
    metrics::ClassAverage{"recall_macro", &ClassCount::recall, Average::kMacroOfAll},
    metrics::ClassAverage{"recall_weighted", &ClassCount::recall, Average::kWeighted},
    metrics::ClassAverage{"f1_micro", &ClassCount::f1, Average::kMicro},
    metrics::ClassAverage{"f1_macro", &ClassCount::f1, Average::kMacroOfAll},
    metrics::ClassAverage{"f1_weighted", &ClassCount::f1, Average::kWeighted}};

/// What is made of how often each class was wanted, told, and both.
class ClassSetCounts final : public MeasurePart {
 public:
  ClassSetCounts(std::vector<std::string> names, double threshold, bool in_a_table)
      : names_(std::move(names)), threshold_(threshold), in_a_table_(in_a_table) {}

  void add(const Told& told) override {
    const at::Tensor decided = class_set_probabilities(told.logits).gt(threshold_);
    counts_.add(metrics::count_class_sets(told.wanted(), decided));
    samples_.add(at::full({1}, told.logits.size(0), told.logits.options().dtype(at::kLong)));
  }

  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    auto classes = metrics::class_counts(counts_.over_ranks(communicator, 3, at::kLong));
    const auto samples = samples_.over_ranks(communicator, 1, at::kLong).item<std::int64_t>();
    for (const std::string& name : names_) {
      const metrics::ClassAverage* const found = metrics::find_average(kClassSetAverages, name);
      measured.values[name] =
          found ? metrics::average(classes, *found) : metrics::label_accuracy(classes, samples);
    }
    if (in_a_table_) measured.table = {std::move(classes), {}};
  }

 private:
  std::vector<std::string> names_;
  double threshold_;
  bool in_a_table_;
  SumsOverRanks counts_;
  SumsOverRanks samples_;
};

}  // namespace

at::Tensor class_set_probabilities(const at::Tensor& logits) {
  const bool is_double = logits.scalar_type() == at::kDouble;
  return at::sigmoid(logits.to(is_double ? at::kDouble : at::kFloat));
}

Told read_class_sets(const tensor::Fields& outputs, const Batch& batch) {
  return {outputs.at(kLogits).detach(), at::Tensor(), batch.fields.at(kTargets)};
}

std::optional<std::string> wrong_multi_label_metric(const std::string& name) {
  if (loss_percent(name)) return std::nullopt;
  std::vector<std::string> others{std::string(kLabelAccuracy), std::string(kAuroc),
                                  std::string(kAveragePrecision)};
  for (const metrics::ClassAverage& each : kClassSetAverages) others.emplace_back(each.name);
  if (std::ranges::find(others, name) != others.end()) return std::nullopt;
  return fmt::format(
      "'{}' is no metric of multi_label; expected loss_p<percent> (loss_p95), or one of {}", name,
      base::join(others, ", "));
}

std::unique_ptr<EvalMeasure> make_multi_label_measure(const std::vector<std::string>& names,
                                                      const nn::Loss& loss, double threshold,
                                                      bool classes) {
  if (names.empty() && !classes) return nullptr;
  std::vector<std::string> of_classes, rankings, percentiles;
  for (const std::string& name : names) {
    if (metrics::find_average(kClassSetAverages, name) || name == kLabelAccuracy)
      of_classes.push_back(name);
    if (name == kAuroc || name == kAveragePrecision) rankings.push_back(name);
    if (loss_percent(name)) percentiles.push_back(name);
  }
  std::vector<std::unique_ptr<MeasurePart>> parts;
  if (!of_classes.empty() || classes)
    parts.push_back(std::make_unique<ClassSetCounts>(of_classes, threshold, classes));
  if (!rankings.empty())
    parts.push_back(std::make_unique<Rankings>(rankings, class_set_probabilities));
  if (!percentiles.empty()) parts.push_back(std::make_unique<LossPercentiles>(percentiles, loss));
  return std::make_unique<MeasureOfParts>(read_class_sets, std::move(parts));
}

}  // namespace paceline::train
