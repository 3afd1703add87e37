#pragma once

#include "paceline/nn/losses.h"
#include "paceline/nn/network.h"
#include "paceline/tensor/fields.h"
#include "paceline/train/batch/batch.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace paceline::train {

/// A number that is shown of steps and evaluations: one sum over samples divided by another.
struct Metric {
  static constexpr std::int64_t kSamples = -1;

  std::string name;                     ///< as it appears behind "train/" and "val/": "top1"
  std::int64_t numerator = 0;           ///< which of Task::sums()
  std::int64_t denominator = kSamples;  ///< likewise, or the number of samples
};

/// What is learnt: networks, how a batch's loss comes about, and what is measured. Trainer,
/// evaluator, strategies, checkpoints and loggers know no more of it than this.
class Task {
 public:
  virtual ~Task() = default;

  /// Owned by the task; its parameters and buffers are what is trained and saved.
  virtual nn::Network& network() = 0;

  /// Throws ConfigError, which says what is expected and where it is set, unless batches of fields
  /// of these sizes can be learnt from.
  virtual void check_fields(const nn::SampleSizes& sizes) = 0;

  /// Whatever loss() and sums() need of the networks.
  virtual tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) = 0;

  /// A scalar: the loss summed (not averaged) over the batch's samples.
  virtual at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) = 0;

  virtual std::span<const Metric> metrics() const = 0;
  /// How many numbers sums() gives.
  virtual std::int64_t num_sums() const = 0;
  /// Over the batch's samples: float64 [num_sums()], beside the outputs. Must not wait for the
  /// device. They are summed over microbatches and ranks before they become metrics; also a part
  /// of the loss that is to be logged is one of them.
  virtual at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) = 0;

  struct Evaluated {
    at::Tensor loss;  ///< as loss()
    at::Tensor sums;
  };
  /// What an evaluation does with a batch, without gradients and in evaluation mode: a forward
  /// pass, unless the task has more to do.
  virtual Evaluated evaluate(const Batch& batch, const nn::ForwardContext& context) {
    const tensor::Fields outputs = forward(batch, context);
    return {loss(outputs, batch), sums(outputs, batch)};
  }

  /// Before training and evaluation.
  virtual void set_training(bool is_training) { network().train(is_training); }
};

/// What a recipe gives a task, to be made if the task wants it.
struct TaskParts {
  std::function<std::shared_ptr<nn::Network>()> make_network;  ///< of `model`
  std::function<std::shared_ptr<nn::Loss>()> make_loss;        ///< of `loss`
};

}  // namespace paceline::train
