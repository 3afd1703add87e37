#pragma once

#include "paceline/tensor/torch.h"

#include <cstdint>
#include <functional>

namespace paceline::nn {

/// Batch normalisation over [N, C, H, W], torch.nn.BatchNorm2d's names: parameters `weight`,
/// `bias`, buffers `running_mean`, `running_var`, `num_batches_tracked`.
///
/// In training mode it normalises by the batch's own statistics and moves the running ones towards
/// them; in evaluation mode, or frozen, it uses the running ones and changes nothing.
/// Paper: Ioffe and Szegedy, "Batch normalization", 2015.
class BatchNorm2d : public torch::nn::Module {
 public:
  /// Normalises one batch by its statistics and updates the running ones. Differentiable in the
  /// input and in the norm's weight and bias. It checks that there are values enough, and does
  /// through Rerun::once what must not happen again in a recomputation.
  using TrainingKernel =
      std::function<at::Tensor(const at::Tensor& input, const BatchNorm2d& norm)>;

  explicit BatchNorm2d(std::int64_t channels, double eps = 1e-5, double momentum = 0.1);

  /// Throws ConfigError when one value per channel leaves nothing to normalise by.
  at::Tensor forward(const at::Tensor& input) const;

  /// Keeps the statistics as they are, also in training mode; weight and bias still train.
  void set_frozen(bool frozen) { frozen_ = frozen; }
  bool is_frozen() const { return frozen_; }
  bool uses_batch_statistics() const { return is_training() && !frozen_; }

  /// Replaces the local statistics, for instance by ones over all ranks. Empty restores them.
  void set_training_kernel(TrainingKernel kernel) { training_kernel_ = std::move(kernel); }
  /// Empty: its own.
  const TrainingKernel& training_kernel() const { return training_kernel_; }
  bool has_training_kernel() const { return static_cast<bool>(training_kernel_); }

  double eps() const { return eps_; }
  double momentum() const { return momentum_; }

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor num_batches_tracked;  ///< int64 scalar

 private:
  double eps_;
  double momentum_;
  bool frozen_ = false;
  TrainingKernel training_kernel_;
};

/// Freezes (or thaws) the statistics of every BatchNorm2d below `module`; returns how many there
/// are.
int set_batch_norm_frozen(torch::nn::Module& module, bool frozen);

/// Whether some BatchNorm2d below `module` has a training kernel, as those that normalise over all
/// ranks have.
bool has_training_kernels(const torch::nn::Module& module);

}  // namespace paceline::nn
