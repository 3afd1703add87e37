#pragma once

#include "paceline/data/dataset/field.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/nn/network.h"
#include "paceline/tensor/fields.h"
#include "paceline/train/batch/batch.h"
#include "paceline/train/eval_measure.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::nn {
class Loss;  // nn/losses.h
}  // namespace paceline::nn

namespace paceline::train {

/// A number that is shown of steps and evaluations: one sum over samples divided by another.
struct Metric {
  static constexpr std::int64_t kSamples = -1;

  std::string name;                     ///< as it appears behind "train/" and "val/": "top1"
  std::int64_t numerator = 0;           ///< which of Task::sums()
  std::int64_t denominator = kSamples;  ///< likewise, or the number of samples
};

/// What is known of the samples of a split before any is read.
struct SampleFacts {
  nn::SampleSizes sizes;  ///< of their fields
  /// How many classes their labels tell apart; 0 where they have none, nothing where no data set
  /// was asked.
  std::optional<int> num_classes = std::nullopt;
};

/// What is learnt: a network, how a batch's loss comes about, and what is measured. Trainer,
/// evaluator, strategies, checkpoints and loggers know no more of it than this.
class Task {
 public:
  /// The network's parameters and buffers are what is trained and saved.
  explicit Task(std::shared_ptr<nn::Network> network) : network_(std::move(network)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  nn::Network& network() { return *network_; }
  const nn::Network& network() const { return *network_; }

  /// Throws ConfigError or DataError, which says what is expected and where it is set, unless
  /// samples such as these can be learnt from.
  virtual void check_samples(const SampleFacts& samples) const = 0;

  /// What all samples share, before the first batch. Throws ConfigError, which says where it is
  /// set, for others than the task or its network goes by.
  virtual void take_constants(const data::SampleConstants& /*constants*/) {}

  /// Whatever loss() and sums() need of the networks.
  virtual tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) = 0;

  /// A scalar: the loss summed (not averaged) over the batch's samples.
  virtual at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) = 0;

  /// How many consecutive samples of a training batch the loss needs together.
  virtual int num_views() const { return 1; }

  virtual std::span<const Metric> metrics() const = 0;
  /// How many numbers sums() gives.
  virtual std::int64_t num_sums() const = 0;
  /// Over the batch's samples: float64 [num_sums()], beside the outputs. Must not wait for the
  /// device. They are summed over microbatches and ranks before they become metrics; also a part
  /// of the loss that is to be logged is one of them.
  virtual at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) = 0;

  /// What evaluations measure besides metrics(): names, as theirs.
  virtual std::vector<std::string> eval_metrics() const { return {}; }
  /// What measures that in one evaluation, or null; with `classes`, what they were told as, too.
  /// The task must outlive it.
  virtual std::unique_ptr<EvalMeasure> measure_evaluation(bool /*classes*/) const {
    return nullptr;
  }

  struct Evaluated {
    at::Tensor loss;  ///< as loss()
    at::Tensor sums;
    tensor::Fields outputs = {};  ///< for measure_evaluation()
  };
  /// What an evaluation does with a batch, without gradients and in evaluation mode: a forward
  /// pass, unless the task has more to do.
  virtual Evaluated evaluate(const Batch& batch, const nn::ForwardContext& context) {
    tensor::Fields outputs = forward(batch, context);
    at::Tensor loss_sum = loss(outputs, batch);
    at::Tensor metric_sums = sums(outputs, batch);
    return {std::move(loss_sum), std::move(metric_sums), std::move(outputs)};
  }

  /// Whether evaluate() and predict() run parts of the network in another order or number than
  /// forward(), as a loop that samples does: strategies hold all parameters whole meanwhile.
  virtual bool evaluates_freely() const { return false; }
  /// What people want to see of an evaluated batch: asked on rank 0 for the first of an evaluation.
  virtual std::vector<metrics::Picture> pictures(const tensor::Fields& /*outputs*/,
                                                 const Batch& /*batch*/) const {
    return {};
  }

  /// What is given out for a batch: fields whose first dimension are samples, beside the network,
  /// of the same types and sizes for every batch. Called as evaluate().
  virtual tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) {
    return forward(batch, context);
  }

  /// Whether forward() and loss() put the same work in the device's queue for all training batches
  /// of one size, besides what dropout in the network draws. `train.compile: graph` records it once
  /// and repeats it, and with it whatever a task drew or decided on the host.
  virtual bool can_be_recorded() const { return false; }

  /// Before training and evaluation.
  virtual void set_training(bool is_training) { network().train(is_training); }

 private:
  std::shared_ptr<nn::Network> network_;
};

/// What a recipe gives a task, to be made if the task wants it.
class TaskParts {
 public:
  TaskParts() = default;
  TaskParts(const TaskParts&) = delete;
  TaskParts& operator=(const TaskParts&) = delete;
  virtual ~TaskParts() = default;

  /// Of `model`. A task that asks for a number of outputs gets a network with them, whatever the
  /// data; else model.num_classes says it, which follows the data. Throws ConfigError for a model
  /// that cannot have that number, and for a second number.
  virtual std::shared_ptr<nn::Network> make_network(std::optional<int> num_outputs) = 0;
  std::shared_ptr<nn::Network> make_network() { return make_network(std::nullopt); }

  /// Of `loss`.
  virtual std::shared_ptr<nn::Loss> make_loss() = 0;
};

}  // namespace paceline::train
