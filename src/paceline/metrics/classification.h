#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>

namespace paceline::metrics {

/// How many of a batch's samples have their label among the best one and the best five logits.
struct TopKCounts {
  std::int64_t count = 0;  ///< samples with a label >= 0; others are padding and count nowhere
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;  ///< among all classes when there are fewer than five
};

/// logits: [N, C] of any floating dtype; labels: int64 [N], -1 or another negative number for
/// padding. Of equal logits the lower class number is the better, as in a stable sort, so that a
/// constant output scores by chance; a logit that is not a number is better than any other and
/// never right. Blocks until the logits are computed. Throws InternalError for a label that is not
/// below C.
TopKCounts count_top_k(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace paceline::metrics
