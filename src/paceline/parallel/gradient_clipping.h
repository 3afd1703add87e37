#pragma once

#include "paceline/parallel/strategy.h"
#include "paceline/tensor/fwd.h"

namespace paceline::parallel {

// What is done to the gradients of a step between Strategy::finish_gradients() and update(). Every
// rank must call the same functions in the same order. None waits for a device: what it finds stays
// there, as a scalar that is the same on all ranks.

/// Multiplies all gradients by `factor`, before they are clipped. Returns 1 if any of them, on any
/// rank, was infinite or NaN, else 0: float32.
at::Tensor unscale_gradients(Strategy& strategy, double factor);

/// Euclidean norm of all gradients over every shard, in float32 (float64 for float64 gradients), as
/// float64.
at::Tensor grad_norm(Strategy& strategy);

/// Scales the gradients so that their norm is at most max_norm; returns the norm before. With one
/// that is not finite they stay as they are.
at::Tensor clip_grad_norm(Strategy& strategy, double max_norm);

/// Clamps every element to [-max_value, max_value].
void clip_grad_value(Strategy& strategy, double max_value);

}  // namespace paceline::parallel
