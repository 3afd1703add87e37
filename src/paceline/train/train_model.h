#pragma once

#include "paceline/nn/network.h"
#include "paceline/train/batch/batch.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::train {

/// What is learnt: a network, its loss, and what is counted of its outputs.
class TrainModel {
 public:
  virtual ~TrainModel() = default;

  /// Owned by the model; its parameters and buffers are what is trained and saved.
  virtual nn::Network& network() = 0;

  virtual at::Tensor forward(const Batch& batch, const nn::ForwardContext& context) = 0;

  /// A scalar: the loss summed (not averaged) over the batch's samples.
  virtual at::Tensor loss(const at::Tensor& outputs, const Batch& batch) = 0;

  /// Names of what count() counts, as they appear in metrics: "top1", "top5".
  virtual std::span<const std::string> count_names() const = 0;
  /// Over the batch's samples, one element per name: float64, beside the outputs. Must not wait for
  /// the device. Each metric shown is its sum over all ranks divided by the number of samples.
  virtual at::Tensor count(const at::Tensor& outputs, const Batch& batch) = 0;

  /// For training and evaluation.
  virtual void set_training(bool is_training) = 0;
};

}  // namespace paceline::train
