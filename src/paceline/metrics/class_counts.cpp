#include "paceline/metrics/class_counts.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::metrics {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Adds each sample's 1 at its index, if it counts, in a row of `size` numbers.
at::Tensor counted(const at::Tensor& indices, const at::Tensor& counts, std::int64_t size) {
  return at::zeros({size}, indices.options()).index_add_(0, indices, counts);
}

double weight_of(const ClassCount& count, Average how) {
  if (how == Average::kMacroOfAll) return 1.0;
  if (how == Average::kMacro) return count.occurs() ? 1.0 : 0.0;
  return static_cast<double>(count.samples);
}

ClassCount all_together(const std::vector<ClassCount>& classes) {
  ClassCount all;
  for (const ClassCount& each : classes) {
    all.samples += each.samples;
    all.told += each.told;
    all.correct += each.correct;
  }
  return all;
}

}  // namespace

at::Tensor count_classes(const at::Tensor& logits, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const std::int64_t num_classes = logits.size(1);
  const at::Tensor told = logits.argmax(1);
  const at::Tensor counts = labels.ge(0).to(at::kLong);
  const at::Tensor own = labels.clamp_min(0);
  return at::stack({counted(own, counts, num_classes), counted(told, counts, num_classes),
                    counted(own, counts * told.eq(own), num_classes)});
}

at::Tensor count_class_sets(const at::Tensor& wanted, const at::Tensor& told) {
  const at::NoGradGuard no_grad;
  return at::stack({wanted.sum(0), told.sum(0), wanted.logical_and(told).sum(0)});
}

at::Tensor count_confusions(const at::Tensor& logits, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const std::int64_t num_classes = logits.size(1);
  const at::Tensor cells = labels.clamp_min(0) * num_classes + logits.argmax(1);
  return counted(cells, labels.ge(0).to(at::kLong), num_classes * num_classes)
      .view({num_classes, num_classes});
}

double ClassCount::precision() const { return ratio(correct, told); }

double ClassCount::recall() const { return ratio(correct, samples); }

double ClassCount::f1() const { return ratio(2 * correct, samples + told); }

std::vector<ClassCount> class_counts(const at::Tensor& counts) {
  PACELINE_CHECK(counts.is_cpu() && counts.dim() == 2 && counts.size(0) == 3,
                 "counts must be [3, C] in host memory");
  const at::Tensor rows = counts.contiguous();
  const auto* const values = rows.const_data_ptr<std::int64_t>();
  const std::int64_t num_classes = rows.size(1);
  std::vector<ClassCount> classes;
  for (std::int64_t c = 0; c < num_classes; ++c)
    classes.push_back({values[c], values[num_classes + c], values[2 * num_classes + c]});
  return classes;
}

const ClassAverage* find_average(std::span<const ClassAverage> averages, std::string_view name) {
  const auto found = std::ranges::find(averages, name, &ClassAverage::name);
  return found == averages.end() ? nullptr : &*found;
}

double average(const std::vector<ClassCount>& classes, const ClassAverage& average) {
  if (average.how == Average::kMicro) return (all_together(classes).*average.score)();
  double sum = 0;
  double weights = 0;
  for (const ClassCount& each : classes) {
    const double weight = weight_of(each, average.how);
    sum += weight * (each.*average.score)();
    weights += weight;
  }
  return sum / weights;
}

double label_accuracy(const std::vector<ClassCount>& classes, std::int64_t samples) {
  const ClassCount all = all_together(classes);
  const std::int64_t decisions = samples * std::ssize(classes);
  const std::int64_t wrong = all.samples + all.told - 2 * all.correct;
  return 1.0 - static_cast<double>(wrong) / static_cast<double>(decisions);
}

double balanced_accuracy(const std::vector<ClassCount>& classes) {
  double sum = 0;
  double num_present = 0;
  for (const ClassCount& each : classes) {
    sum += each.recall();
    num_present += each.samples > 0 ? 1 : 0;
  }
  return sum / num_present;
}

}  // namespace paceline::metrics
