#pragma once

#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/multi_label_measure.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::train {

struct MultiLabelConfig {
  double threshold = 0.5;
  std::vector<std::string> metrics = {};
};

/// Classification in which a sample is of any number of classes: each is told for itself, by the
/// sigmoid of its logit. A batch's targets say of which, [size, num_classes]: 1 or 0, or a share of
/// samples that were mixed, of which metrics take what is above a half.
class MultiLabelTask final : public ClassificationTask {
 public:
  MultiLabelTask(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss,
                 const MultiLabelConfig& config)
      : ClassificationTask(std::move(network), std::move(loss), config.metrics),
        threshold_(config.threshold) {}

  void check_samples(const SampleFacts& samples) const override;
  /// Throws ConfigError without targets, and DataError for such as are no floats.
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override;
  /// class_set_probabilities() as `probabilities`.
  tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) override;
  std::span<const Metric> metrics() const override { return metrics_; }
  std::int64_t num_sums() const override { return kNumSums; }
  at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) override;
  std::unique_ptr<EvalMeasure> measure_evaluation(bool classes) const override;
  bool tells_one_class() const override { return false; }

 private:
  enum Sum : std::int64_t { kTwiceCorrect, kToldAndWanted, kExact, kNumSums };

  double threshold_;
  std::array<Metric, 2> metrics_{Metric{"f1_micro", kTwiceCorrect, kToldAndWanted},
                                 Metric{"exact_match", kExact}};
};

std::unique_ptr<Task> make(const MultiLabelConfig& config, TaskParts& parts);

}  // namespace paceline::train

template <>
struct paceline::config::Schema<paceline::train::MultiLabelConfig> {
  using Config = paceline::train::MultiLabelConfig;
  static constexpr std::string_view name = "multi_label";
  static constexpr std::string_view summary =
      "Tells of which classes an image is, any number of them: data with lists of labels, and a "
      "loss that compares each class for itself (loss=binary_cross_entropy).";
  static constexpr auto fields = std::tuple{
      field(&Config::threshold, "threshold",
            "The probability (sigmoid of a logit) above which metrics take a class as told.",
            MoreThan{0}, LessThan{1}, MayChangeOnResume{}),
      field(&Config::metrics, "metrics",
            "What evaluations measure besides f1_micro and exact_match: precision, recall and f1 "
            "with _micro, _macro or _weighted; label_accuracy (the share of decisions that are "
            "right, of each sample and class); auroc and average_precision (of each class, "
            "averaged; the latter is known as mAP); loss_p<percent>. [average_precision, f1_macro] "
            "gives val/average_precision and so on, which checkpoint.monitor and the like may "
            "name.",
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    for (const std::string& name : value.metrics) {
      if (const auto wrong = paceline::train::wrong_multi_label_metric(name))
        problems.add("metrics", *wrong);
    }
  }
};
