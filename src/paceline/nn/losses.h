#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"

#include <memory>

namespace paceline::nn {

/// Compares a network's outputs with targets. Stateless; safe to share between threads.
class Loss {
 public:
  virtual ~Loss() = default;

  /// The sum over the samples, a scalar; whoever trains divides by the global number of samples.
  virtual at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
};

struct CrossEntropyConfig {
  double label_smoothing = 0.0;
};

/// Softmax cross entropy of logits [N, classes]. Targets are class indices (int64 [N]; -100 counts
/// nothing) or probabilities (floating [N, classes]). Label smoothing mixes them with the uniform
/// distribution, as torch.nn.CrossEntropyLoss does.
/// Paper of the smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.
class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const CrossEntropyConfig& config);
  at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const override;

 private:
  CrossEntropyConfig config_;
};

std::unique_ptr<Loss> make(const CrossEntropyConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::CrossEntropyConfig> {
  using T = paceline::nn::CrossEntropyConfig;
  static constexpr std::string_view name = "cross_entropy";
  static constexpr std::string_view summary = "Softmax cross entropy.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&T::label_smoothing, "label_smoothing",
                       "Share of the target spread evenly over all classes.", InRange{0, 1})};
};
