#include "paceline/train/tasks/classification_measure.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/metrics/calibration.h"
#include "paceline/metrics/classification.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/measure_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace paceline::train {
namespace {

constexpr std::string_view kTop = "top";
constexpr std::string_view kBalancedAccuracy = "balanced_accuracy";
constexpr std::string_view kCalibrationError = "ece";
constexpr std::array kClassAverages{
    metrics::ClassAverage{"precision_macro", &metrics::ClassCount::precision,
                          metrics::Average::kMacro},
    metrics::ClassAverage{"precision_weighted", &metrics::ClassCount::precision,
                          metrics::Average::kWeighted},
    metrics::ClassAverage{"recall_macro", &metrics::ClassCount::recall, metrics::Average::kMacro},
    metrics::ClassAverage{"recall_weighted", &metrics::ClassCount::recall,
                          metrics::Average::kWeighted},
    metrics::ClassAverage{"f1_macro", &metrics::ClassCount::f1, metrics::Average::kMacro},
    metrics::ClassAverage{"f1_weighted", &metrics::ClassCount::f1, metrics::Average::kWeighted}};

/// Of more classes a matrix is too large to be read.
constexpr std::int64_t kMostConfused = 1000;

std::optional<std::int64_t> top_of(std::string_view name) {
  if (!name.starts_with(kTop)) return std::nullopt;
  std::int64_t k = 0;
  std::from_chars(name.data() + kTop.size(), name.data() + name.size(), k);
  return k >= 1 && name == fmt::format("{}{}", kTop, k) ? std::optional(k) : std::nullopt;
}

class TopCounts final : public MeasurePart {
 public:
  explicit TopCounts(std::vector<std::int64_t> ks) : ks_(std::move(ks)) {}
  void add(const Told& told) override {
    counts_.add(at::cat({metrics::count_top_k(told.logits, told.labels, ks_),
                         at::full({1}, told.labels.size(0), counts_options(told))}));
  }
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    const at::Tensor counts = counts_.over_ranks(communicator, 1, at::kDouble).flatten();
    const auto* const values = counts.const_data_ptr<double>();
    for (std::size_t i = 0; i < ks_.size(); ++i)
      measured.values[fmt::format("{}{}", kTop, ks_[i])] = values[i] / values[ks_.size()];
  }

 private:
  /// Samples are counted as Task::sums() counts them: also those without a class.
  static at::TensorOptions counts_options(const Told& told) {
    return told.logits.options().dtype(at::kDouble).requires_grad(false);
  }

  std::vector<std::int64_t> ks_;
  SumsOverRanks counts_;
};

class ClassCounts final : public MeasurePart {
 public:
  ClassCounts(std::vector<std::string> names, bool in_a_table)
      : names_(std::move(names)), in_a_table_(in_a_table) {}
  void add(const Told& told) override {
    counts_.add(metrics::count_classes(told.logits, told.labels));
    if (in_a_table_ && told.logits.size(1) <= kMostConfused)
      confusions_.add(metrics::count_confusions(told.logits, told.labels));
  }
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    auto classes = metrics::class_counts(counts_.over_ranks(communicator, 3, at::kLong));
    for (const std::string& name : names_) {
      const metrics::ClassAverage* const found = metrics::find_average(kClassAverages, name);
      measured.values[name] =
          found ? metrics::average(classes, *found) : metrics::balanced_accuracy(classes);
    }
    if (!in_a_table_) return;
    at::Tensor confusions;
    if (const auto count = std::ssize(classes); count <= kMostConfused)
      confusions = confusions_.over_ranks(communicator, count, at::kLong);
    measured.table = {std::move(classes), std::move(confusions)};
  }

 private:
  std::vector<std::string> names_;
  bool in_a_table_;
  SumsOverRanks counts_;
  SumsOverRanks confusions_;
};

class Calibration final : public MeasurePart {
 public:
  void add(const Told& told) override {
    sums_.add(metrics::calibration_sums(class_probabilities(told.logits), told.labels));
  }
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    measured.values[std::string(kCalibrationError)] =
        metrics::expected_calibration_error(sums_.over_ranks(communicator, 3, at::kDouble));
  }

 private:
  SumsOverRanks sums_;
};

Told read_classification(const tensor::Fields& outputs, const Batch& batch) {
  return {outputs.at(kLogits), batch.fields.at(kLabels), targets_of(batch)};
}

}  // namespace

std::optional<std::string> wrong_classification_metric(const std::string& name) {
  if (top_of(name) || loss_percent(name) || metrics::find_average(kClassAverages, name))
    return std::nullopt;
  std::vector<std::string> others{std::string(kBalancedAccuracy), std::string(kCalibrationError),
                                  std::string(kAuroc), std::string(kAveragePrecision)};
  if (std::ranges::find(others, name) != others.end()) return std::nullopt;
  for (const metrics::ClassAverage& each : kClassAverages) others.emplace_back(each.name);
  return fmt::format(
      "'{}' is no metric of classification; expected top<k> (top3), loss_p<percent> (loss_p95), or "
      "one of {}",
      name, base::join(others, ", "));
}

std::unique_ptr<EvalMeasure> make_classification_measure(const std::vector<std::string>& names,
                                                         const nn::Loss& loss, bool classes) {
  if (names.empty() && !classes) return nullptr;
  std::vector<std::int64_t> ks;
  std::vector<std::string> of_classes, rankings, percentiles;
  for (const std::string& name : names) {
    if (const auto k = top_of(name)) ks.push_back(*k);
    if (metrics::find_average(kClassAverages, name) || name == kBalancedAccuracy)
      of_classes.push_back(name);
    if (name == kAuroc || name == kAveragePrecision) rankings.push_back(name);
    if (loss_percent(name)) percentiles.push_back(name);
  }
  std::vector<std::unique_ptr<MeasurePart>> parts;
  if (!ks.empty()) parts.push_back(std::make_unique<TopCounts>(ks));
  if (!of_classes.empty() || classes)
    parts.push_back(std::make_unique<ClassCounts>(of_classes, classes));
  if (std::ranges::find(names, kCalibrationError) != names.end())
    parts.push_back(std::make_unique<Calibration>());
  if (!rankings.empty()) parts.push_back(std::make_unique<Rankings>(rankings, class_probabilities));
  if (!percentiles.empty()) parts.push_back(std::make_unique<LossPercentiles>(percentiles, loss));
  return std::make_unique<MeasureOfParts>(read_classification, std::move(parts));
}

}  // namespace paceline::train
