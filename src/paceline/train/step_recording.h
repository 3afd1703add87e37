#pragma once

#include "paceline/tensor/device.h"
#include "paceline/train/batch/batch.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::train {

class Engine;
struct TrainState;

/// Computes the gradients of steps by replaying a recording of one: forward, loss and backward of
/// all microbatches and the sums over the ranks, on whole batches of one size. Everything else
/// (what algorithms make of the batch, clipping, the optimizer with its learning rate, what is read
/// and logged) stays outside, so the recording holds nothing that changes from step to step but the
/// microbatches.
class StepRecording {
 public:
  /// The loss of each microbatch, a scalar on the device; undefined if it had no samples.
  using Losses = std::vector<at::Tensor>;
  /// Queues that work for a step's microbatches without waiting for the device.
  using Queue = std::function<Losses(std::span<const Batch> microbatches)>;

  using MakeGraph = std::function<std::unique_ptr<tensor::DeviceGraph>()>;

  /// `samples_per_step`: of the whole global batch. The first steps run by `queue` itself.
  StepRecording(MakeGraph make_graph, std::int64_t samples_per_step, Queue queue);

  /// `global_size`: the samples that all ranks have read for this step. A smaller batch than the
  /// others runs by `queue`. When fields get other sizes the recording is given up and a new one
  /// made. The losses are valid until the next call.
  /// Throws ConfigError when the device cannot record the work.
  const Losses& run(std::span<const Batch> microbatches, std::int64_t global_size);

 private:
  void forget_other_sizes(std::span<const Batch> microbatches);
  void record(std::span<const Batch> microbatches);

  MakeGraph make_graph_;
  std::unique_ptr<tensor::DeviceGraph> work_;
  std::vector<std::int64_t> sizes_;  ///< of the warm-up's and the recording's fields
  std::int64_t samples_per_step_;
  Queue queue_;
  int num_warm_ups_ = 0;
  std::vector<Batch> inputs_;  ///< from which the recording reads; empty: there is none
  Losses recorded_losses_;
  Losses direct_losses_;
};

/// What stands against recording the steps of this run, for people; nothing if they can be
/// recorded.
std::optional<std::string> obstacle_to_recording(const TrainState& state, const Engine& engine);

}  // namespace paceline::train
