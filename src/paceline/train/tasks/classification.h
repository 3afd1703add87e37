#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/losses.h"
#include "paceline/train/task.h"

#include <array>
#include <memory>
#include <string_view>

namespace paceline::train {

struct ClassificationConfig {};

/// The logits among the outputs: [size, num_classes].
inline constexpr std::string_view kLogits = "logits";

/// What a loss compares with, class indices or probabilities: the batch's targets, or its labels
/// where it holds no targets.
const at::Tensor& targets_of(const Batch& batch);

/// Classification: a network that gives logits, a loss, top-1 and top-5. Metrics count by the
/// labels, also where a batch holds targets beside them.
class ClassificationTask final : public Task {
 public:
  ClassificationTask(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss);

  void check_samples(const SampleFacts& samples) const override;
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override;
  at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) override;
  /// `probabilities` [size, num_classes] of the classes, by the softmax of the logits.
  tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) override;
  std::span<const Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return std::ssize(metrics_); }
  at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) override;

 private:
  std::shared_ptr<nn::Loss> loss_;
  std::array<Metric, 2> metrics_{Metric{"top1", 0}, Metric{"top5", 1}};
};

std::unique_ptr<Task> make(const ClassificationConfig& config, TaskParts& parts);

}  // namespace paceline::train

template <>
struct paceline::config::Schema<paceline::train::ClassificationConfig> {
  static constexpr std::string_view name = "classification";
  static constexpr std::string_view summary =
      "Tells images' classes: `model` gives logits, `loss` compares them with labels.";
  static constexpr auto fields = std::tuple{};
};
