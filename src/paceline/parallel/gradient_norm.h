#pragma once

#include "paceline/tensor/aten.h"

#include <span>

namespace paceline::parallel {

/// The sum of squares of each row of [rows, n], taken in float32 (float64 for float64): float64
/// [rows].
at::Tensor squares_of_rows(const at::Tensor& rows);

/// Euclidean norm over flat tensors [n], in one pass. Sums of squares are taken in float32 (float64
/// for float64) over runs of 1024 elements, which keeps the error below 1e-6 however many there
/// are, and in float64 over the runs; the result does not depend on the number of threads. A
/// float64 scalar beside the tensors, of which there must be one.
at::Tensor flat_norm(std::span<const at::Tensor> flats);

/// Multiplies by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does, unless
/// the norm, a float64 scalar beside the tensors, is not finite: that is for the caller to see.
/// Does not wait for a device.
void scale_to_norm(std::span<const at::Tensor> flats, const at::Tensor& norm, double max_norm);

}  // namespace paceline::parallel
