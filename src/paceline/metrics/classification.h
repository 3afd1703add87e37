#pragma once

#include "paceline/tensor/aten.h"

#include <array>
#include <cstdint>
#include <span>

namespace paceline::metrics {

inline constexpr std::array<std::int64_t, 2> kTop1And5{1, 5};

/// How many of a batch's samples have their label among the best k logits (all of them, when there
/// are fewer classes), for each k: float64 [ks], beside the logits, without waiting for a device.
///
/// logits: [N, C] of any floating dtype; labels: int64 [N], -1 or another negative number for
/// padding, which counts nowhere. Of equal logits the lower class number is the better, as in a
/// stable sort, so that a constant output scores by chance; a logit that is not a number is better
/// than any other and never right. Throws InternalError for a label that is not below C, on the CPU
/// in float32.
at::Tensor count_top_k(const at::Tensor& logits, const at::Tensor& labels,
                       std::span<const std::int64_t> ks = kTop1And5);

}  // namespace paceline::metrics
