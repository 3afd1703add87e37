#include "paceline/metrics/classification.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cstdint>

namespace paceline::metrics {
namespace {

constexpr std::int64_t kTop = 5;

/// How many classes are better than the label's.
std::int64_t rank_of_label(const float* logits, std::int64_t num_classes, std::int64_t label) {
  const float own = logits[label];
  std::int64_t better = 0;
  for (std::int64_t c = 0; c < label; ++c) better += !(logits[c] < own);
  for (std::int64_t c = label; c < num_classes; ++c) better += !(logits[c] <= own);
  return better;
}

/// One pass without temporaries: the operators of the general path cost more than a small step.
at::Tensor count_on_cpu(const at::Tensor& logits, const at::Tensor& labels) {
  const std::int64_t num_classes = logits.size(1);
  const float* row = logits.const_data_ptr<float>();
  const std::int64_t* label = labels.const_data_ptr<std::int64_t>();
  at::Tensor counts = at::zeros({2}, at::kDouble);
  auto* const top = counts.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < logits.size(0); ++i, row += num_classes) {
    if (label[i] < 0) continue;
    PACELINE_CHECK(label[i] < num_classes, "label {} of sample {} in a batch of {} classes",
                   label[i], i, num_classes);
    const std::int64_t rank = rank_of_label(row, num_classes, label[i]);
    top[0] += rank < 1 ? 1 : 0;
    top[1] += rank < std::min(kTop, num_classes) ? 1 : 0;
  }
  return counts;
}

at::Tensor count_with_operators(const at::Tensor& logits, const at::Tensor& labels) {
  const std::int64_t num_classes = logits.size(1);
  const at::Tensor is_counted = labels.ge(0);
  const at::Tensor column = labels.clamp_min(0).unsqueeze(1);
  const at::Tensor own = logits.gather(1, column);
  const at::Tensor classes = at::arange(num_classes, labels.options());
  const at::Tensor tie_before = logits.eq(own).logical_and_(classes.lt(column));
  const at::Tensor rank = logits.le(own).logical_not_().logical_or_(tie_before).sum(1);
  return at::stack({rank.lt(1).logical_and_(is_counted).sum(),
                    rank.lt(std::min(kTop, num_classes)).logical_and_(is_counted).sum()})
      .to(at::kDouble);
}

}  // namespace

at::Tensor count_top_k(const at::Tensor& logits, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  PACELINE_CHECK(logits.dim() == 2 && labels.dim() == 1 && logits.size(0) == labels.size(0) &&
                     labels.scalar_type() == at::kLong,
                 "logits must be [N, C] and labels int64 [N]");
  if (logits.is_cpu() && logits.scalar_type() == at::kFloat && logits.is_contiguous() &&
      labels.is_contiguous()) {
    return count_on_cpu(logits, labels);
  }
  return count_with_operators(logits.detach(), labels);
}

}  // namespace paceline::metrics
