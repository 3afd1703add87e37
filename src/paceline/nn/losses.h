#pragma once

#include "paceline/tensor/torch.h"

namespace paceline::nn {

/// Compares a network's outputs with targets. Stateless; safe to share between threads.
class Loss {
 public:
  virtual ~Loss() = default;

  /// The sum over the samples, a scalar; whoever trains divides by the global number of samples.
  virtual at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
};

struct CrossEntropyConfig {
  double label_smoothing = 0.0;
};

/// Softmax cross entropy of logits [N, classes]. Targets are class indices (int64 [N]; -100 counts
/// nothing) or probabilities (floating [N, classes]). Label smoothing mixes them with the uniform
/// distribution, as torch.nn.CrossEntropyLoss does.
/// Paper of the smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.
class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const CrossEntropyConfig& config);
  at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const override;

 private:
  CrossEntropyConfig config_;
};

}  // namespace paceline::nn
