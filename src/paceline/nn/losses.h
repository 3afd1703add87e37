#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/class_weights.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::nn {

/// Compares a network's outputs with targets: class indices (int64 [N]; -100 counts nothing), or
/// probabilities (floating [N, classes]) of a loss that takes them. Nothing changes it; safe to
/// share between threads.
class Loss {
 public:
  virtual ~Loss() = default;

  /// The loss of each sample: [N], 0 of one that counts nothing.
  virtual at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const = 0;

  /// The sum over the samples, a scalar; whoever trains divides by the global number of samples.
  virtual at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const {
    return per_sample(outputs, targets).sum();
  }

  virtual bool takes_probabilities() const { return true; }

  /// Whether each class is compared for itself, so that a sample may be of several or of none.
  virtual bool compares_each_class() const { return false; }

  /// How many consecutive rows are views of one sample that are compared with each other: batches
  /// hold all views of a sample, or none.
  virtual int num_views() const { return 1; }

  /// What evaluations compare by, where each sample comes once and as it is. Lives as long as this.
  virtual const Loss& of_evaluation() const { return *this; }

  /// Throws ConfigError, which names the key, unless it can compare so many outputs of a sample.
  virtual void check_num_outputs(std::int64_t /*num_outputs*/) const {}
};

struct CrossEntropyConfig {
  double label_smoothing = 0.0;
  std::vector<double> class_weights = {};
  bool balance_classes = false;  ///< whoever makes the loss fills class_weights in
};

/// Softmax cross entropy of logits [N, classes]. Label smoothing mixes targets with the uniform
/// distribution, and class weights are factors on the terms of the classes, as in
/// torch.nn.CrossEntropyLoss; but a mean over samples divides by their number, not by their
/// weights. Probabilities that add up to less than 1 are smoothed by as much less.
/// Paper of the smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.
class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const CrossEntropyConfig& config);
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  at::Tensor sum(const at::Tensor& outputs, const at::Tensor& targets) const override;
  void check_num_outputs(std::int64_t num_outputs) const override;

 private:
  at::Tensor reduced(const at::Tensor& outputs, const at::Tensor& targets,
                     at::Reduction::Reduction reduction) const;

  CrossEntropyConfig config_;
  ClassWeights weights_;
};

std::unique_ptr<Loss> make(const CrossEntropyConfig& config);

/// The field of every loss that smooths its targets.
template <class Config>
constexpr auto label_smoothing_field() {
  using namespace config;
  return field(&Config::label_smoothing, "label_smoothing",
               "Share of the target spread evenly over all classes.", InRange{0, 1});
}

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::CrossEntropyConfig> {
  using T = paceline::nn::CrossEntropyConfig;
  static constexpr std::string_view name = "cross_entropy";
  static constexpr std::string_view summary = "Softmax cross entropy.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple_cat(std::tuple{nn::label_smoothing_field<T>()}, nn::class_weights_fields<T>());
};
