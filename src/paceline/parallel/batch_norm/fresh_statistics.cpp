#include "paceline/parallel/batch_norm/fresh_statistics.h"

#include "paceline/base/error.h"
#include "paceline/parallel/batch_norm/global_moments.h"
#include "paceline/tensor/torch.h"

#include <utility>

namespace paceline::parallel {

FreshStatistics::FreshStatistics(torch::nn::Module& module, comm::Communicator& communicator) {
  module.apply([&](torch::nn::Module& below) {
    auto* const norm = below.as<nn::BatchNorm2d>();
    if (norm != nullptr && !norm->is_frozen()) watch(*norm, communicator);
    auto* const drop_path = below.as<nn::DropPath>();
    if (drop_path == nullptr || drop_path->rule().group == 1) return;
    nn::DropPathRule rule = drop_path->rule();
    branches_.push_back({drop_path, rule});
    rule.group = 1;
    drop_path->set_rule(rule);
  });
}

FreshStatistics::~FreshStatistics() {
  for (const auto& each : collected_) each->norm->set_training_kernel(std::move(each->kernel));
  for (const Branch& branch : branches_) branch.drop_path->set_rule(branch.rule);
}

void FreshStatistics::watch(nn::BatchNorm2d& norm, comm::Communicator& communicator) {
  const auto options = norm.running_mean.options().dtype(at::kDouble);
  Collected& into = *collected_.emplace_back(std::make_unique<Collected>(
      Collected{&norm, norm.training_kernel(), at::zeros(norm.running_mean.sizes(), options),
                at::zeros(norm.running_mean.sizes(), options)}));
  norm.set_training_kernel(
      [&into, &communicator](const at::Tensor& input, const nn::BatchNorm2d& self) {
        PACELINE_CHECK(!at::GradMode::is_enabled(), "statistics are collected without gradients");
        self.num_batches_tracked.sub_(1);  // that forward() counted: store() does
        const auto moments = global_moments(input, self, communicator, "statistics anew");
        if (!moments) return at::empty_like(input);
        into.mean.add_(moments->mean);
        into.variance.add_(moments->unbiased_variance());
        ++into.num_batches;
        const at::ScalarType dtype = self.running_mean.scalar_type();
        return normalise_by(input, self.weight, self.bias, moments->mean.to(dtype),
                            moments->variance().to(dtype), self.eps());
      });
}

void FreshStatistics::store() {
  const at::NoGradGuard no_grad;
  for (const auto& each : collected_) {
    if (each->num_batches == 0) continue;
    const auto count = static_cast<double>(each->num_batches);
    each->norm->running_mean.copy_(each->mean / count);
    each->norm->running_var.copy_(each->variance / count);
    each->norm->num_batches_tracked.fill_(each->num_batches);
  }
}

}  // namespace paceline::parallel
