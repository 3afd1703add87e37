#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/dropout.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace paceline::parallel {

/// Running statistics anew, from forward passes in training mode and without gradients.
///
/// While it lives each moving nn::BatchNorm2d below a module normalises by the statistics of the
/// global batch (all samples of all ranks in one pass), and collects them instead of moving its
/// running ones. store() writes the plain mean over the passes of each batch's mean and unbiased
/// variance, as torch.optim.swa_utils.update_bn computes them on one device that is given the
/// global batches, the last and ragged one weighing as much as the others. What a batch's values
/// are does not depend on how its samples are spread over ranks, so the statistics do not either,
/// but for the rounding of sums. That holds because a pass takes a rank's whole share, not
/// microbatches, and because residual branches are dropped sample by sample meanwhile (by rules
/// for groups of samples ranks would not pass through the same norms).
///
/// Frozen norms stay as they are, and so do norms that no pass reached. Every rank must run the
/// same passes: one without samples runs them on [0, C, H, W]. Each norm adds one all_gather of
/// 2 C + 1 float64 numbers to a pass.
class FreshStatistics {
 public:
  /// Both must outlive it.
  FreshStatistics(torch::nn::Module& module, comm::Communicator& communicator);
  /// Norms and branches do again what they did before; without store() nothing has changed.
  ~FreshStatistics();
  FreshStatistics(const FreshStatistics&) = delete;
  FreshStatistics& operator=(const FreshStatistics&) = delete;

  /// Writes running_mean and running_var, and into num_batches_tracked the number of passes.
  void store();

 private:
  struct Collected {
    nn::BatchNorm2d* norm;
    nn::BatchNorm2d::TrainingKernel kernel;  ///< that it had
    at::Tensor mean, variance;               ///< [C]: sums over the batches, float64
    std::int64_t num_batches = 0;
  };
  struct Branch {
    nn::DropPath* drop_path;
    nn::DropPathRule rule;  ///< that it had
  };

  void watch(nn::BatchNorm2d& norm, comm::Communicator& communicator);

  std::vector<std::unique_ptr<Collected>> collected_;
  std::vector<Branch> branches_;
};

}  // namespace paceline::parallel
