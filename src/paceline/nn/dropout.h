#pragma once

#include "paceline/nn/network.h"

#include <cstdint>
#include <vector>

namespace paceline::nn {

/// Zeroes elements with probability `rate` in training mode and divides the others by 1 - rate.
///
/// A sample's draws depend on (context.seed, context.step, its global position, `index`) alone,
/// never on LibTorch's default generator or on which samples share its batch. `index` tells the
/// layers of a network apart. Paper: Srivastava et al., "Dropout", 2014.
class Dropout : public torch::nn::Module {
 public:
  Dropout(double rate, std::uint64_t index);

  /// Keeps the shape. The rows of `input` belong to `num_samples` samples, in order and equally
  /// many each: [num_samples * k, ...].
  at::Tensor forward(const at::Tensor& input, std::int64_t num_samples,
                     const ForwardContext& context) const;

  /// What forward() multiplies an input of these sizes and type by; undefined if by nothing.
  at::Tensor factors(at::IntArrayRef sizes, const at::TensorOptions& options,
                     std::int64_t num_samples, const ForwardContext& context) const;

  bool is_active() const { return is_training() && rate_ > 0; }
  double rate() const { return rate_; }

 private:
  double rate_;
  std::uint64_t index_;
};

/// How a DropPath drops, and what makes up for it.
struct DropPathRule {
  double rate = 0.0;
  /// Samples that a draw drops together, by their position in the epoch; 0: all of a microbatch.
  std::int64_t group = 1;
  /// Instead of dividing what is kept by 1 - rate in training, evaluations multiply by it.
  bool scales_in_evaluation = false;
};

/// Zeroes whole samples of a residual branch with probability `rate` in training mode and divides
/// the others by 1 - rate ("stochastic depth"). Draws are keyed as Dropout's. Paper: Huang et al.,
/// "Deep networks with stochastic depth", 2016.
class DropPath : public torch::nn::Module {
 public:
  DropPath(double rate, std::uint64_t index);

  /// As Dropout::forward; keeps the layout in memory, too.
  at::Tensor forward(const at::Tensor& input, std::int64_t num_samples,
                     const ForwardContext& context) const;

  /// What forward() multiplies the samples by, [num_samples, 1]; undefined if by nothing.
  at::Tensor factors(const at::TensorOptions& options, std::int64_t num_samples,
                     const ForwardContext& context) const;

  /// Whether forward() would zero all samples of this microbatch because they share a draw: then
  /// the branch need not be computed. Never waits for the device.
  bool drops_all(std::int64_t num_samples, const ForwardContext& context) const;

  /// Whether forward() may multiply.
  bool is_active() const { return rule_.rate > 0 && (is_training() || rule_.scales_in_evaluation); }
  /// Whether it has had a rule by which it draws: the rate may be 0 meanwhile.
  bool may_draw() const { return may_draw_; }
  const DropPathRule& rule() const { return rule_; }
  void set_rule(const DropPathRule& rule);

 private:
  std::vector<float> group_masks(std::int64_t num_samples, const ForwardContext& context) const;
  at::Tensor drawn_mask(const at::TensorOptions& options, std::int64_t num_samples,
                        const ForwardContext& context) const;

  DropPathRule rule_;
  bool may_draw_;
  std::uint64_t index_;
};

/// The rate of a block where it grows linearly from 0 at the first of `depth` blocks to `last` at
/// the last.
double drop_path_rate(double last, std::int64_t block, std::int64_t depth);

/// Whether a module below draws for each training step anew.
bool draws_in_training(const torch::nn::Module& module);

}  // namespace paceline::nn
