#include "paceline/metrics/classification.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <vector>

namespace paceline::metrics {
namespace {

/// How many classes are better than the label's.
std::int64_t rank_of_label(const float* logits, std::int64_t num_classes, std::int64_t label) {
  const float own = logits[label];
  std::int64_t better = 0;
  for (std::int64_t c = 0; c < label; ++c) better += !(logits[c] < own);
  for (std::int64_t c = label; c < num_classes; ++c) better += !(logits[c] <= own);
  return better;
}

/// One pass without temporaries: the operators of the general path cost more than a small step.
at::Tensor count_on_cpu(const at::Tensor& logits, const at::Tensor& labels,
                        std::span<const std::int64_t> ks) {
  const std::int64_t num_classes = logits.size(1);
  const float* row = logits.const_data_ptr<float>();
  const std::int64_t* label = labels.const_data_ptr<std::int64_t>();
  at::Tensor counts = at::zeros({std::ssize(ks)}, at::kDouble);
  auto* const top = counts.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < logits.size(0); ++i, row += num_classes) {
    if (label[i] < 0) continue;
    PACELINE_CHECK(label[i] < num_classes, "label {} of sample {} in a batch of {} classes",
                   label[i], i, num_classes);
    const std::int64_t rank = rank_of_label(row, num_classes, label[i]);
    for (std::size_t k = 0; k < ks.size(); ++k)
      top[k] += rank < std::min(ks[k], num_classes) ? 1 : 0;
  }
  return counts;
}

at::Tensor count_with_operators(const at::Tensor& logits, const at::Tensor& labels,
                                std::span<const std::int64_t> ks) {
  const std::int64_t num_classes = logits.size(1);
  const at::Tensor is_counted = labels.ge(0);
  const at::Tensor column = labels.clamp_min(0).unsqueeze(1);
  const at::Tensor own = logits.gather(1, column);
  const at::Tensor classes = at::arange(num_classes, labels.options());
  const at::Tensor tie_before = logits.eq(own).logical_and_(classes.lt(column));
  const at::Tensor rank = logits.le(own).logical_not_().logical_or_(tie_before).sum(1);
  std::vector<at::Tensor> counts;
  for (const std::int64_t k : ks)
    counts.push_back(rank.lt(std::min(k, num_classes)).logical_and_(is_counted).sum());
  return at::stack(counts).to(at::kDouble);
}

}  // namespace

at::Tensor count_top_k(const at::Tensor& logits, const at::Tensor& labels,
                       std::span<const std::int64_t> ks) {
  const at::NoGradGuard no_grad;
  PACELINE_CHECK(logits.dim() == 2 && labels.dim() == 1 && logits.size(0) == labels.size(0) &&
                     labels.scalar_type() == at::kLong,
                 "logits must be [N, C] and labels int64 [N]");
  if (logits.is_cpu() && logits.scalar_type() == at::kFloat && logits.is_contiguous() &&
      labels.is_contiguous()) {
    return count_on_cpu(logits, labels, ks);
  }
  return count_with_operators(logits.detach(), labels, ks);
}

}  // namespace paceline::metrics
