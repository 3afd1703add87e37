#include "paceline/nn/blocks/skipped_branch.h"

#include <vector>

namespace paceline::nn {

at::Tensor add_nothing_of(const at::Tensor& output,
                          std::span<const torch::nn::Module* const> modules) {
  std::vector<at::Tensor> nothing;
  for (const torch::nn::Module* const module : modules) {
    for (const at::Tensor& parameter : module->parameters()) {
      // No element, so that not even an infinite weight can change the sum.
      if (parameter.requires_grad()) nothing.push_back(parameter.slice(0, 0, 0).reshape({0}));
    }
  }
  return nothing.empty() ? output : output + at::cat(nothing).sum();
}

}  // namespace paceline::nn
