#pragma once

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"

namespace paceline::nn {

/// Before volumes are sampled at places: on a GPU the way back adds up in any order. Throws
/// ConfigError where `run.deterministic` wants one order.
inline void require_sampling_in_any_order(const at::Tensor& volumes) {
  if (volumes.is_cpu() || !volumes.requires_grad() || !at::GradMode::is_enabled() ||
      !at::globalContext().deterministicAlgorithms())
    return;
  throw base::ConfigError(
      "run.deterministic: on a GPU cone beams, and views at other angles than 0, 90, 180 and 270 "
      "degrees, have no gradients that are summed in one order: set run.deterministic=false, or "
      "take parallel beams along the axes");
}

}  // namespace paceline::nn
