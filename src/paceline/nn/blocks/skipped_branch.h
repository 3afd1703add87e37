#pragma once

#include "paceline/tensor/torch.h"

#include <span>

namespace paceline::nn {

/// `output` as if it hung on all parameters below `modules` without being changed by them: backward
/// gives these zeros, where it would give nothing, which data parallelism takes for an error. For
/// a branch that is left out of one step.
at::Tensor add_nothing_of(const at::Tensor& output,
                          std::span<const torch::nn::Module* const> modules);

}  // namespace paceline::nn
