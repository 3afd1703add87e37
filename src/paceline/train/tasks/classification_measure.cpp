#include "paceline/train/tasks/classification_measure.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/metrics/calibration.h"
#include "paceline/metrics/classification.h"
#include "paceline/metrics/ranking.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/gathered_scores.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace paceline::train {
namespace {

constexpr std::string_view kTop = "top";
constexpr std::string_view kLossPercentile = "loss_p";
constexpr std::string_view kBalancedAccuracy = "balanced_accuracy";
constexpr std::string_view kCalibrationError = "ece";
constexpr std::string_view kAuroc = "auroc";
constexpr std::string_view kAveragePrecision = "average_precision";

struct ClassAverage {
  std::string_view name;
  double (metrics::ClassCount::*score)() const;
  metrics::Average how;
};
constexpr std::array kClassAverages{
    ClassAverage{"precision_macro", &metrics::ClassCount::precision, metrics::Average::kMacro},
    ClassAverage{"precision_weighted", &metrics::ClassCount::precision,
                 metrics::Average::kWeighted},
    ClassAverage{"recall_macro", &metrics::ClassCount::recall, metrics::Average::kMacro},
    ClassAverage{"recall_weighted", &metrics::ClassCount::recall, metrics::Average::kWeighted},
    ClassAverage{"f1_macro", &metrics::ClassCount::f1, metrics::Average::kMacro},
    ClassAverage{"f1_weighted", &metrics::ClassCount::f1, metrics::Average::kWeighted}};

/// Of more classes a matrix is too large to be read.
constexpr std::int64_t kMostConfused = 1000;

template <class Number>
std::optional<Number> number_behind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  Number number{};
  const auto [end, error] =
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> top_of(std::string_view name) {
  const auto k = number_behind<std::int64_t>(kTop, name);
  return k && *k >= 1 && name == fmt::format("{}{}", kTop, *k) ? k : std::nullopt;
}

std::optional<double> percent_of(std::string_view name) {
  const auto percent = number_behind<double>(kLossPercentile, name);
  return percent && *percent >= 0 && *percent <= 100 ? percent : std::nullopt;
}

const ClassAverage* average_of(std::string_view name) {
  const auto* const found = std::ranges::find(kClassAverages, name, &ClassAverage::name);
  return found == kClassAverages.end() ? nullptr : found;
}

/// What is measured of a batch.
struct Told {
  at::Tensor logits;
  at::Tensor labels;
  at::Tensor targets;
};

/// Metrics that are made of the same.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;
  virtual void add(const Told& told) = 0;
  virtual void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) = 0;
};

/// Sums that are zeros at first; ranks without samples learn from others how many there are.
class SumsOverRanks {
 public:
  void add(const at::Tensor& sums) { sums_ = sums_.defined() ? sums_.add_(sums) : sums; }

  /// In host memory, over all ranks: as often as there are columns of these many rows.
  at::Tensor over_ranks(comm::Communicator& communicator, std::int64_t rows,
                        at::ScalarType dtype) const {
    const std::int64_t numel =
        comm::max_over_ranks(communicator, sums_.defined() ? sums_.numel() : 0);
    const at::Tensor all = sums_.defined() ? sums_.to(at::kCPU).clone() : at::zeros({numel}, dtype);
    if (communicator.world_size() > 1)
      communicator.all_reduce(all.flatten(), comm::ReduceOp::kSum, "sums of an evaluation")->wait();
    return all.view({rows, numel / rows});
  }

 private:
  at::Tensor sums_;
};

class TopCounts final : public Part {
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

class ClassCounts final : public Part {
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
      const ClassAverage* const found = average_of(name);
      measured.values[name] = found ? metrics::average(classes, found->score, found->how)
                                    : metrics::balanced_accuracy(classes);
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

class Calibration final : public Part {
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

class Rankings final : public Part {
 public:
  explicit Rankings(std::vector<std::string> names) : names_(std::move(names)) {}
  void add(const Told& told) override {
    scores_.add(class_probabilities(told.logits), told.labels);
  }
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    const metrics::RankingScores means = scores_.mean_over_classes(communicator);
    for (const std::string& name : names_)
      measured.values[name] = name == kAuroc ? means.auroc : means.average_precision;
  }

 private:
  std::vector<std::string> names_;
  GatheredScores scores_;
};

class LossPercentiles final : public Part {
 public:
  LossPercentiles(std::vector<std::string> names, const nn::Loss& loss)
      : names_(std::move(names)), loss_(loss) {}
  void add(const Told& told) override {
    losses_.push_back(loss_.per_sample(told.logits, told.targets)
                          .to(at::kCPU, at::kDouble)
                          .masked_select(told.labels.to(at::kCPU).ge(0)));
  }
  void finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) override {
    losses_.push_back(at::empty({0}, at::kDouble));
    const at::Tensor all = std::get<0>(gather_values(communicator, at::cat(losses_)).sort());
    const std::span sorted(all.const_data_ptr<double>(), static_cast<std::size_t>(all.numel()));
    for (const std::string& name : names_)
      measured.values[name] = metrics::percentile(sorted, *percent_of(name));
  }

 private:
  std::vector<std::string> names_;
  const nn::Loss& loss_;
  std::vector<at::Tensor> losses_;
};

class ClassificationMeasure final : public EvalMeasure {
 public:
  ClassificationMeasure(const std::vector<std::string>& names, const nn::Loss& loss, bool classes) {
    std::vector<std::int64_t> ks;
    std::vector<std::string> of_classes, rankings, percentiles;
    for (const std::string& name : names) {
      if (const auto k = top_of(name)) ks.push_back(*k);
      if (average_of(name) || name == kBalancedAccuracy) of_classes.push_back(name);
      if (name == kAuroc || name == kAveragePrecision) rankings.push_back(name);
      if (percent_of(name)) percentiles.push_back(name);
    }
    if (!ks.empty()) parts_.push_back(std::make_unique<TopCounts>(ks));
    if (!of_classes.empty() || classes)
      parts_.push_back(std::make_unique<ClassCounts>(of_classes, classes));
    if (std::ranges::find(names, kCalibrationError) != names.end())
      parts_.push_back(std::make_unique<Calibration>());
    if (!rankings.empty()) parts_.push_back(std::make_unique<Rankings>(rankings));
    if (!percentiles.empty())
      parts_.push_back(std::make_unique<LossPercentiles>(percentiles, loss.of_evaluation()));
  }

  void add(const tensor::Fields& outputs, const Batch& batch) override {
    const Told told{outputs.at(kLogits), batch.fields.at(kLabels), targets_of(batch)};
    for (const auto& part : parts_) part->add(told);
  }

  Measured finish(comm::Communicator& communicator) override {
    Measured measured;
    for (const auto& part : parts_) part->finish(communicator, measured);
    return measured;
  }

 private:
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace

std::optional<std::string> wrong_classification_metric(const std::string& name) {
  if (top_of(name) || percent_of(name) || average_of(name)) return std::nullopt;
  std::vector<std::string> others{std::string(kBalancedAccuracy), std::string(kCalibrationError),
                                  std::string(kAuroc), std::string(kAveragePrecision)};
  if (std::ranges::find(others, name) != others.end()) return std::nullopt;
  for (const ClassAverage& each : kClassAverages) others.emplace_back(each.name);
  return fmt::format(
      "'{}' is no metric of classification; expected top<k> (top3), loss_p<percent> (loss_p95), or "
      "one of {}",
      name, base::join(others, ", "));
}

std::unique_ptr<EvalMeasure> make_classification_measure(const std::vector<std::string>& names,
                                                         const nn::Loss& loss, bool classes) {
  if (names.empty() && !classes) return nullptr;
  return std::make_unique<ClassificationMeasure>(names, loss, classes);
}

}  // namespace paceline::train
