#pragma once

#include "paceline/tensor/aten.h"

#include <span>

namespace paceline::parallel {

/// Euclidean norm over flat tensors [n], in one pass. Sums of squares are taken in float32 (float64
/// for float64) over runs of 1024 elements, which keeps the error below 1e-6 however many there
/// are, and in float64 over the runs; the result does not depend on the number of threads.
double flat_norm(std::span<const at::Tensor> flats);

/// Multiplies by min(1, max_norm / (norm + 1e-6)), unless the norm is not finite.
void scale_to_norm(std::span<const at::Tensor> flats, double norm, double max_norm);

/// Multiplies by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does; a norm
/// that is not finite leaves the tensors as they are, for the caller to see. Returns the norm
/// before.
double clip_flat_norm(std::span<const at::Tensor> flats, double max_norm);

/// Clamps every element to [-max_value, max_value].
void clip_flat_value(std::span<const at::Tensor> flats, double max_value);

}  // namespace paceline::parallel
