#pragma once

#include "paceline/models/ct_cascade/denoiser_block.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/draws.h"

#include <cstdint>
#include <vector>

namespace paceline::models {

/// Numbers without a pattern that repeats.
inline at::Tensor denoiser_numbers(std::vector<std::int64_t> sizes, double phase,
                                   at::ScalarType dtype = at::kDouble) {
  const std::int64_t count = c10::multiply_integers(sizes);
  return at::arange(count, at::kDouble).mul(12.9898).add(phase).sin().view(sizes).to(dtype);
}

/// Weights that are large enough for every gradient to matter, also of what starts as 0.
inline void fill_denoiser(torch::nn::Module& module, at::ScalarType dtype = at::kDouble) {
  nn::set_dtype(module, dtype);
  std::uint64_t index = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(module)) {
    const bool is_norm = item.name.find("norm") != std::string::npos;
    const double mean = is_norm && item.name.ends_with("weight") ? 1.0 : 0.0;
    tensor::fill_normal(item.tensor, mean, 0.2, {.seed = 5, .index = index++});
  }
}

constexpr DenoiserShape kBlockShape{.batch = 3, .tokens = 5, .xray_tokens = 7};
constexpr std::int64_t kBlockDim = 12;
constexpr std::int64_t kBlockHeads = 3;

/// Tokens, condition, keys and values of a block of kBlockShape, leaves with gradients.
inline std::vector<at::Tensor> block_inputs(at::ScalarType dtype = at::kDouble) {
  return {denoiser_numbers({15, kBlockDim}, 0, dtype).set_requires_grad(true),
          denoiser_numbers({3, kBlockDim}, 1, dtype).set_requires_grad(true),
          denoiser_numbers({21, 2 * kBlockDim}, 2, dtype).set_requires_grad(true)};
}

}  // namespace paceline::models
