#pragma once

#include "paceline/nn/losses.h"

namespace paceline::nn {

struct JensenShannonConfig {
  int num_views = 3;
  double alpha = 12.0;
  double label_smoothing = 0.1;
};

/// Of samples that come in several views: the cross entropy of the first one, and alpha times the
/// Jensen-Shannon divergence of what the network makes of all. Views are consecutive rows, as
/// repeated augmentation gives them, and the loss of each is that of its sample, so that the mean
/// over rows is timm.loss.JsdCrossEntropy's (whose rows are ordered by views). Evaluations compare
/// by the cross entropy.
/// Paper: Hendrycks et al., "AugMix", ICLR 2020.
class JensenShannon final : public Loss {
 public:
  explicit JensenShannon(const JensenShannonConfig& config);
  /// Throws ConfigError unless all views of each sample are there.
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  int num_views() const override { return config_.num_views; }
  const Loss& of_evaluation() const override { return cross_entropy_; }

 private:
  JensenShannonConfig config_;
  CrossEntropy cross_entropy_;
};

std::unique_ptr<Loss> make(const JensenShannonConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::JensenShannonConfig> {
  using Config = paceline::nn::JensenShannonConfig;
  static constexpr std::string_view name = "jensen_shannon";
  static constexpr std::string_view summary =
      "Cross entropy, and how much the views of a sample differ in what the network makes of them.";
  static constexpr std::string_view paper = "Hendrycks et al., 2020";
  static constexpr auto fields =
      std::tuple{field(&Config::num_views, "num_views",
                       "How many rows in a row are views of one sample: data.sampler.repeats of "
                       "repeated_augmentation.",
                       AtLeast{2}, AtMost{1000, "as many copies of an image in a row"}),
                 field(&Config::alpha, "alpha", "Factor on the divergence.", AtLeast{0},
                       AtMost{1e6, "no weights survive a step"}),
                 nn::label_smoothing_field<Config>()};
};
