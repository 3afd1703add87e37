#include "paceline/parallel/batch_norm/sync_batch_norm.h"

#include "paceline/base/error.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/rerun.h"
#include "paceline/parallel/batch_norm/global_moments.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <torch/nn/modules/batchnorm.h>

namespace paceline::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Of the values that all ranks have together. mean, variance (biased): [C] in the dtype of the
/// norm; count: values per channel, a float64 scalar.
struct Statistics {
  at::Tensor mean;
  at::Tensor variance;
  at::Tensor count;
};

/// Of the values of all ranks, by which the running statistics move.
Statistics exchange(const at::Tensor& input, const nn::BatchNorm2d& norm,
                    comm::Communicator& communicator) {
  const at::NoGradGuard no_grad;
  const auto moments = global_moments(input, norm, communicator, "SyncBatchNorm statistics");
  if (!moments) {  // a ragged batch left this group of ranks nothing
    return {norm.running_mean.clone(), norm.running_var.clone(),
            at::ones({}, input.options().dtype(at::kDouble))};
  }
  const at::ScalarType dtype = norm.running_mean.scalar_type();
  Statistics statistics{moments->mean.to(dtype), moments->variance().to(dtype), moments->count};
  norm.running_mean.lerp_(statistics.mean, norm.momentum());
  norm.running_var.lerp_(moments->unbiased_variance().to(dtype), norm.momentum());
  return statistics;
}

/// A recomputation takes what the ranks found the first time.
Statistics global_statistics(const at::Tensor& input, const nn::BatchNorm2d& norm,
                             comm::Communicator& communicator) {
  const auto found = nn::Rerun::once([&] {
    const auto [mean, variance, count] = exchange(input, norm, communicator);
    return nn::Rerun::Tensors{mean, variance, count};
  });
  return {found[0], found[1], found[2]};
}

/// Normalisation by given statistics that depend on the input, and its gradient with that
/// dependence, for which the ranks' sums are reduced.
struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const Statistics& statistics, double eps,
                            comm::Communicator* communicator) {
    const auto& [mean, variance, count] = statistics;
    context->save_for_backward({input, weight, mean, variance, count});
    context->saved_data["eps"] = eps;
    context->saved_data["communicator"] = reinterpret_cast<std::int64_t>(communicator);
    return normalise_by(input, weight, bias, mean, variance, eps);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& input = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& mean = saved[2];
    const at::Tensor& variance = saved[3];
    const double eps = context->saved_data["eps"].toDouble();
    const at::Tensor grad = grad_outputs[0].contiguous(input.suggest_memory_format());
    const at::Tensor rstd = (variance + eps).rsqrt_();

    variable_list grads(6);  // of forward's arguments after the context
    at::Tensor& weight_grad = grads[1];
    at::Tensor& bias_grad = grads[2];
    if (input.numel() == 0) {
      weight_grad = bias_grad = at::zeros_like(weight);
    } else {
      std::tie(std::ignore, weight_grad, bias_grad) =
          at::native_batch_norm_backward(grad, input, weight, mean, variance, mean, rstd,
                                         /*train=*/false, eps, {false, true, true});
    }
    if (!context->needs_input_grad(0)) return grads;

    // The sums over all values of the gradient, and of its product with the normalised input.
    const at::Tensor sums = at::stack({bias_grad, weight_grad}).to(at::kDouble);
    auto* communicator =
        reinterpret_cast<comm::Communicator*>(context->saved_data["communicator"].toInt());
    communicator->all_reduce(sums, comm::ReduceOp::kSum, "SyncBatchNorm gradients")->wait();
    const at::Tensor scale = weight * rstd;
    const at::Tensor means = sums.div_(saved[4]).to(scale.scalar_type()).mul_(-scale);
    // scale * (grad - its mean - normalised input * mean product), in two passes.
    grads[0] = normalise_by(input, means[1], means[0], mean, variance, eps)
                   .addcmul_(grad, scale.view({1, -1, 1, 1}));
    return grads;
  }
};

bool is_torch_batch_norm(const torch::nn::Module& module) {
  return module.as<torch::nn::BatchNorm1dImpl>() != nullptr ||
         module.as<torch::nn::BatchNorm2dImpl>() != nullptr ||
         module.as<torch::nn::BatchNorm3dImpl>() != nullptr;
}

std::vector<nn::BatchNorm2d*> batch_norms(torch::nn::Module& module) {
  std::vector<nn::BatchNorm2d*> found;
  module.apply([&found](const std::string& name, torch::nn::Module& below) {
    if (is_torch_batch_norm(below)) {
      throw base::ConfigError(fmt::format(
          "'{}' is a torch::nn::BatchNorm, which cannot be given the statistics of all ranks: use "
          "paceline::nn::BatchNorm2d in its place",
          name));
    }
    if (auto* norm = below.as<nn::BatchNorm2d>()) found.push_back(norm);
  });
  return found;
}

}  // namespace

int set_sync_batch_norm(torch::nn::Module& module, comm::Communicator& communicator) {
  const std::vector<nn::BatchNorm2d*> norms = batch_norms(module);
  if (communicator.world_size() > 1) {
    for (nn::BatchNorm2d* norm : norms) {
      norm->set_training_kernel(
          [&communicator](const at::Tensor& input, const nn::BatchNorm2d& self) {
            return SyncBatchNorm::apply(input, self.weight, self.bias,
                                        global_statistics(input, self, communicator), self.eps(),
                                        &communicator);
          });
    }
  }
  return static_cast<int>(norms.size());
}

}  // namespace paceline::parallel
