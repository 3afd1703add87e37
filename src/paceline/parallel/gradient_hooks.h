#pragma once

#include "paceline/parallel/named_tensors.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace paceline::parallel {

/// Called when backward has completed the gradient of a parameter: its number and its .grad, which
/// the handler may replace or reset. It runs on the thread that runs backward on the parameters'
/// device; what it throws reaches the caller of backward.
using GradientHandler = std::function<void(std::size_t parameter, at::Tensor& grad)>;

/// Keeps a post-accumulate hook on every parameter for its own lifetime. A parameter used several
/// times in a graph calls once, an unused one never. Hooks survive set_data and zero_grad.
class GradientHooks {
 public:
  /// Throws InternalError that names a parameter which has such a hook already: LibTorch holds only
  /// one.
  GradientHooks(std::span<const NamedTensor> parameters, const GradientHandler& handler);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  std::vector<at::Tensor> hooked_;
};

}  // namespace paceline::parallel
