#include "paceline/metrics/class_counts.h"

#include "paceline/base/error.h"

namespace paceline::metrics {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Adds each sample's 1 at its index, if it counts, in a row of `size` numbers.
at::Tensor counted(const at::Tensor& indices, const at::Tensor& counts, std::int64_t size) {
  return at::zeros({size}, indices.options()).index_add_(0, indices, counts);
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

double average(const std::vector<ClassCount>& classes, double (ClassCount::*score)() const,
               Average how) {
  double sum = 0;
  double weights = 0;
  for (const ClassCount& each : classes) {
    const double one = each.occurs() ? 1.0 : 0.0;
    const double weight = how == Average::kMacro ? one : static_cast<double>(each.samples);
    sum += weight * (each.*score)();
    weights += weight;
  }
  return sum / weights;
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
