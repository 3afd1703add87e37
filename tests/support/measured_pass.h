#pragma once

#include "paceline/nn/module_tree.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace paceline::test {

/// Takes a parameter's gradient away where it was made, as a strategy does that keeps it elsewhere.
class GradientTaker final : public torch::autograd::PostAccumulateGradHook {
 public:
  void operator()(const torch::autograd::Variable& parameter) override {
    parameter.mutable_grad().reset();
  }
};

inline void take_gradients(const torch::nn::Module& module) {
  for (const nn::NamedTensor& item : nn::named_parameters(module)) {
    item.tensor.set_requires_grad(true);
    torch::autograd::impl::set_post_acc_grad_hooks(item.tensor, std::make_unique<GradientTaker>());
  }
}

/// The most bytes that CPU tensors hold more than now while `pass` lasts.
template <class Pass>
double measured_peak(const Pass& pass) {
  tensor::count_tensor_memory();
  const std::int64_t before = tensor::tensor_memory().current;
  tensor::restart_peak();
  pass();
  return static_cast<double>(tensor::tensor_memory().peak - before);
}

}  // namespace paceline::test
