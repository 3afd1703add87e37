#pragma once

#include "paceline/tensor/aten.h"

#include <tuple>

namespace paceline::models {

// Rows are tokens, [batch * tokens, dim], sample by sample; factors are of samples, [batch, dim].

/// Each sample's rows times its factors.
inline at::Tensor scaled_by_sample(const at::Tensor& rows, const at::Tensor& factors) {
  return (rows.unflatten(0, {factors.size(0), -1}) * factors.unsqueeze(1)).flatten(0, 1);
}

/// LayerNorm without parameters of each row, then times 1 + scale, plus shift.
inline at::Tensor modulated_norm(const at::Tensor& rows, const at::Tensor& shift,
                                 const at::Tensor& scale, double eps) {
  const at::Tensor normed =
      std::get<0>(at::native_layer_norm(rows, rows.sizes().slice(1), {}, {}, eps));
  return (normed.unflatten(0, {shift.size(0), -1}) * (scale + 1).unsqueeze(1) + shift.unsqueeze(1))
      .flatten(0, 1);
}

}  // namespace paceline::models
