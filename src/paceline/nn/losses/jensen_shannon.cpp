#include "paceline/nn/losses/jensen_shannon.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"

#include <fmt/format.h>

namespace paceline::nn {
namespace {

/// The first of each group of consecutive rows.
at::Tensor first_of_each(const at::Tensor& rows, std::int64_t group) {
  return rows.slice(0, 0, rows.size(0), group);
}

}  // namespace

JensenShannon::JensenShannon(const JensenShannonConfig& config)
    : config_(config), cross_entropy_({.label_smoothing = config.label_smoothing}) {}

at::Tensor JensenShannon::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const std::int64_t num_views = config_.num_views;
  if (outputs.size(0) % num_views != 0) {
    throw base::ConfigError(fmt::format(
        "loss.num_views: {0} consecutive samples are views of one, and a batch has {1}, "
        "no multiple of {0}",
        num_views, outputs.size(0)));
  }
  const at::Tensor logits = outputs.to(loss_dtype(outputs));
  const at::Tensor labels = first_of_each(targets, num_views);
  const at::Tensor p = at::softmax(logits, 1).view({-1, num_views, logits.size(1)});
  constexpr double kLeast = 1e-7;  // of the mixture, so that the divergence stays finite
  const at::Tensor log_mixture = p.mean(1, /*keepdim=*/true).clamp(kLeast, 1.0).log();
  const at::Tensor divergence =
      at::kl_div(log_mixture.expand_as(p), p, at::Reduction::None).sum({1, 2}) /
      static_cast<double>(num_views);
  const at::Tensor losses = cross_entropy_.per_sample(first_of_each(logits, num_views), labels) +
                            config_.alpha * of_counted(divergence, labels);
  return losses.unsqueeze(1).expand({-1, num_views}).reshape({-1});
}

std::unique_ptr<Loss> make(const JensenShannonConfig& config) {
  return std::make_unique<JensenShannon>(config);
}

}  // namespace paceline::nn
