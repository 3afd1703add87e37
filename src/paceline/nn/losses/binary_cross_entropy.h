#pragma once

#include "paceline/nn/losses.h"

#include <optional>

namespace paceline::nn {

struct BinaryCrossEntropyConfig {
  double label_smoothing = 0.0;
  std::optional<double> target_threshold = {};
  bool sum_classes = false;
  double positive_weight = 1.0;
};

/// Each class for itself: the binary cross entropy of a sigmoid, averaged (or summed) over the
/// classes. Of an index all classes but its own are to be 0; only indices are smoothed, since
/// probabilities are soft already. As timm.loss.BinaryCrossEntropy.
/// Paper: Wightman et al., "ResNet strikes back", 2021.
class BinaryCrossEntropy final : public Loss {
 public:
  explicit BinaryCrossEntropy(const BinaryCrossEntropyConfig& config) : config_(config) {}
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  bool compares_each_class() const override { return true; }

 private:
  BinaryCrossEntropyConfig config_;
};

std::unique_ptr<Loss> make(const BinaryCrossEntropyConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::BinaryCrossEntropyConfig> {
  using Config = paceline::nn::BinaryCrossEntropyConfig;
  static constexpr std::string_view name = "binary_cross_entropy";
  static constexpr std::string_view summary =
      "Cross entropy of each class for itself, by a sigmoid.";
  static constexpr std::string_view paper = "Wightman et al., 2021";
  static constexpr auto fields = std::tuple{
      nn::label_smoothing_field<Config>(),
      field(&Config::target_threshold, "target_threshold",
            "Targets above it are 1 and all others 0, so that each image of a mixture counts "
            "whole; null: as they are.",
            AtLeast{0}, LessThan{1}),
      field(&Config::sum_classes, "sum_classes",
            "Sum over the classes instead of averaging: as many times the loss, for learning rates "
            "that are meant for cross_entropy."),
      field(&Config::positive_weight, "positive_weight",
            "Factor on the terms of the classes that are to be 1.", MoreThan{0},
            AtMost{1e6, "no weights survive a step"})};
};
