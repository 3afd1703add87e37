#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/tensor/element_update.h"

#include <cstddef>
#include <span>
#include <vector>

namespace paceline::optim {

/// What an optimizer's next step was asked to do besides its update, in the same pass over memory:
/// Optimizer::scale_next_gradients() and average_next_parameters(). On the host alone, where that
/// pass takes most of a step's time.
class HostPass {
 public:
  explicit HostPass(const std::vector<ParamGroup>& groups);

  /// False, with nothing changed, where parameters are on a device or of a short dtype.
  bool scale(double factor);
  /// Likewise, and where there are averages already.
  bool average(std::span<const at::Tensor> averages, double share);

  bool is_asked() const { return factor_ != 1 || !averages_.empty(); }
  /// For the slot of this number.
  tensor::UpdateExtras extras(std::size_t slot) const;
  /// The step is over.
  void end();

 private:
  std::size_t num_slots_ = 0;
  bool is_able_ = true;
  double factor_ = 1;
  std::vector<at::Tensor> averages_;  // by slot
  double share_ = 0;
};

/// Updates as LibTorch's fused kernels do: they round the last elements of a tensor, which fill no
/// vector of 32 bytes, in another order than the others.
struct FusedUpdate {
  tensor::ElementUpdate of_vectors;
  tensor::ElementUpdate of_rest;

  /// tensor::update_elements() of either part, to the bits of the fused kernel.
  void run(const at::Tensor& grad, std::span<const at::Tensor> values,
           std::span<const double> scalars, const at::Tensor& skip,
           const tensor::UpdateExtras& extras) const;
};

}  // namespace paceline::optim
