#include "paceline/nn/losses/distances.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"

namespace paceline::nn {
namespace {

struct Compared {
  at::Tensor outputs;
  at::Tensor targets;  ///< of the same size and type
};

Compared comparable(const at::Tensor& outputs, const at::Tensor& targets) {
  const at::Tensor values = outputs.to(loss_dtype(outputs));
  Compared both{values, targets.is_floating_point()
                            ? targets.to(values.scalar_type())
                            : as_probabilities(targets, values.size(1), values.scalar_type())};
  PACELINE_CHECK(both.outputs.sizes() == both.targets.sizes(),
                 "outputs and targets of other sizes than each other");
  return both;
}

/// Of elements [N, ...] to samples [N].
at::Tensor mean_of_each(const at::Tensor& distances, const at::Tensor& targets) {
  return of_counted(distances.flatten(1).mean(1), targets);
}

}  // namespace

at::Tensor Mse::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const auto [values, wanted] = comparable(outputs, targets);
  return mean_of_each(at::mse_loss(values, wanted, at::Reduction::None), targets);
}

at::Tensor L1::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const auto [values, wanted] = comparable(outputs, targets);
  return mean_of_each(at::l1_loss(values, wanted, at::Reduction::None), targets);
}

at::Tensor Huber::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const auto [values, wanted] = comparable(outputs, targets);
  return mean_of_each(at::huber_loss(values, wanted, at::Reduction::None, config_.delta), targets);
}

std::unique_ptr<Loss> make(const MseConfig&) { return std::make_unique<Mse>(); }
std::unique_ptr<Loss> make(const L1Config&) { return std::make_unique<L1>(); }
std::unique_ptr<Loss> make(const HuberConfig& config) { return std::make_unique<Huber>(config); }

}  // namespace paceline::nn
