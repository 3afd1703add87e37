#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/losses.h"
#include "paceline/train/task.h"
#include "paceline/train/tasks/classification_measure.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::train {

struct ClassificationConfig {
  std::vector<std::string> metrics = {};
};

/// The logits among the outputs: [size, num_classes].
inline constexpr std::string_view kLogits = "logits";

/// What a loss compares with, class indices or probabilities: the batch's targets, or its labels
/// where it holds no targets.
const at::Tensor& targets_of(const Batch& batch);

/// What a sample's logits [size, num_classes] give the classes, by their softmax in float32, or in
/// float64 if they are.
at::Tensor class_probabilities(const at::Tensor& logits);

/// Classification: a network that gives logits, a loss, top-1 and top-5. Metrics count by the
/// labels, also where a batch holds targets beside them.
class ClassificationTask : public Task {
 public:
  ClassificationTask(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss,
                     std::vector<std::string> eval_metrics = {});

  void check_samples(const SampleFacts& samples) const override;
  /// What compares the logits with targets_of() a batch.
  const nn::Loss& loss_of_targets() const { return *loss_; }
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override;
  at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) override;
  int num_views() const override { return loss_->num_views(); }
  /// class_probabilities() as `probabilities`.
  tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) override;
  std::span<const Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return std::ssize(metrics_); }
  at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) override;
  std::vector<std::string> eval_metrics() const override { return eval_metrics_; }
  std::unique_ptr<EvalMeasure> measure_evaluation(bool classes) const override;
  bool can_be_recorded() const override { return true; }
  /// Whether the classes of a sample exclude each other.
  virtual bool tells_one_class() const { return true; }
  /// By Loss::of_evaluation().
  Evaluated evaluate(const Batch& batch, const nn::ForwardContext& context) override;

 protected:
  /// Throws ConfigError or DataError unless the network gives logits of as many classes.
  void check_logits(const SampleFacts& samples) const;

 private:
  std::shared_ptr<nn::Loss> loss_;
  std::vector<std::string> eval_metrics_;
  std::array<Metric, 2> metrics_{Metric{"top1", 0}, Metric{"top5", 1}};
};

std::unique_ptr<Task> make(const ClassificationConfig& config, TaskParts& parts);

}  // namespace paceline::train

template <>
struct paceline::config::Schema<paceline::train::ClassificationConfig> {
  using Config = paceline::train::ClassificationConfig;
  static constexpr std::string_view name = "classification";
  static constexpr std::string_view summary =
      "Tells images' classes: `model` gives logits, `loss` compares them with labels.";
  static constexpr auto fields = std::tuple{
      field(&Config::metrics, "metrics",
            "What evaluations measure besides top1 and top5: top<k>; precision, recall and f1 with "
            "_macro or _weighted; balanced_accuracy; ece (calibration error); auroc and "
            "average_precision (each class against the others, averaged); loss_p<percent> "
            "(percentiles of the samples' losses). [top3, f1_macro, loss_p95] gives val/top3 and "
            "so on, which checkpoint.monitor and the like may name.",
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    for (const std::string& name : value.metrics) {
      if (const auto wrong = paceline::train::wrong_classification_metric(name))
        problems.add("metrics", *wrong);
    }
  }
};
