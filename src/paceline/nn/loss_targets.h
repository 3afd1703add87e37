#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>

namespace paceline::nn {

/// What losses of such outputs are computed in: their own type, or float32 if that is wider.
at::ScalarType loss_dtype(const at::Tensor& outputs);

/// Targets as probabilities [N, num_classes] in `dtype`. Of a class index it is 1 for the class,
/// and of one below 0, which has none, all zeros. Throws DataError for an index that is not below
/// num_classes where it lies on the CPU; on a device that queues its work nobody could be told.
at::Tensor as_probabilities(const at::Tensor& targets, std::int64_t num_classes,
                            at::ScalarType dtype);

/// Probabilities [N, classes] mixed with the uniform distribution by this share. A row that adds up
/// to less than 1, as one that was mixed with a sample without a class, gets as much less.
at::Tensor smoothed(const at::Tensor& probabilities, double share);

/// Values [N] of samples: 0 where the target is an index below 0.
at::Tensor of_counted(const at::Tensor& values, const at::Tensor& targets);

}  // namespace paceline::nn
