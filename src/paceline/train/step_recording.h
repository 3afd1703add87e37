#pragma once

#include "paceline/tensor/device.h"
#include "paceline/train/batch/batch.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

class Engine;
struct TrainState;

/// Computes the gradients of steps by replaying a recording of one: forward, loss and backward of
/// all microbatches and the sums over the ranks, on whole batches of one size. Everything else
/// (clipping, the optimizer with its learning rate, what is read and logged) stays outside, so the
/// recording holds nothing that changes from step to step but the batch.
class StepRecording {
 public:
  /// The loss of each microbatch, a scalar on the device; undefined if it had no samples.
  using Losses = std::vector<at::Tensor>;
  /// Queues that work for a batch without waiting for the device.
  using Queue = std::function<Losses(const Batch& batch)>;

  using MakeWork = std::function<std::unique_ptr<tensor::RecordedWork>()>;

  /// `samples_per_step`: of the whole global batch. The first steps run by `queue` itself.
  StepRecording(MakeWork make_work, std::int64_t samples_per_step, Queue queue);

  /// A smaller batch than the others runs by `queue`. When images get another size the recording is
  /// given up and a new one made. The losses are valid until the next call.
  /// Throws ConfigError when the device cannot record the work.
  const Losses& run(const Batch& batch);

 private:
  bool fits(const Batch& batch) const;
  void forget_other_sizes(const Batch& batch);
  void record(const Batch& batch);

  MakeWork make_work_;
  std::unique_ptr<tensor::RecordedWork> work_;
  std::vector<std::int64_t> sample_sizes_;  ///< of the warm-up's and the recording's fields
  std::int64_t samples_per_step_;
  Queue queue_;
  int num_warm_ups_ = 0;
  std::optional<Batch> inputs_;  ///< from which the recording reads
  Losses recorded_losses_;
  Losses direct_losses_;
};

/// What stands against recording the steps of this run, for people; nothing if they can be
/// recorded.
std::optional<std::string> obstacle_to_recording(const TrainState& state, const Engine& engine);

}  // namespace paceline::train
