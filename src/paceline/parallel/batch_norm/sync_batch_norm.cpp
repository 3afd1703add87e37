#include "paceline/parallel/batch_norm/sync_batch_norm.h"

#include "paceline/base/error.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/rerun.h"
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

/// [mean, sum of squared deviations, count] of this rank's values: [2 * C + 1], float64.
at::Tensor local_moments(const at::Tensor& input, const nn::BatchNorm2d& norm) {
  const std::int64_t channels = input.size(1);
  const auto options = input.options().dtype(at::kDouble);
  if (input.numel() == 0) return at::zeros({2 * channels + 1}, options);
  // Running statistics are what tells the kernel the dtype to compute in, so it gets some to move.
  const auto [mean, variance] = at::batch_norm_update_stats(
      input, at::zeros_like(norm.running_mean), at::zeros_like(norm.running_var), /*momentum=*/1.0);
  const at::Tensor count = at::full({1}, input.numel() / channels, options);
  return at::cat({mean.to(at::kDouble), variance.to(at::kDouble) * count, count});
}

/// Merges moments [world_size, 2 * C + 1], in rank order, and moves the running statistics. The
/// formula is that of Chan, Golub and LeVeque (1983) for any number of sets: the deviations within
/// each and those of their means.
Statistics merge(const at::Tensor& moments, const nn::BatchNorm2d& norm) {
  const std::int64_t channels = moments.size(1) / 2;
  const at::Tensor means = moments.narrow(1, 0, channels);
  const at::Tensor counts = moments.narrow(1, 2 * channels, 1);
  const at::Tensor count = counts.sum();
  const at::Tensor mean = means.mul(counts).sum(0).div_(count);
  const at::Tensor deviations =
      (means - mean).square_().mul_(counts).add_(moments.narrow(1, channels, channels)).sum(0);
  const at::ScalarType dtype = norm.running_mean.scalar_type();
  Statistics statistics{mean.to(dtype), (deviations / count).to(dtype), count};
  norm.running_mean.lerp_(statistics.mean, norm.momentum());
  norm.running_var.lerp_((deviations / (count - 1)).to(dtype), norm.momentum());
  return statistics;
}

Statistics exchange(const at::Tensor& input, const nn::BatchNorm2d& norm,
                    comm::Communicator& communicator) {
  const at::NoGradGuard no_grad;
  const at::Tensor own = local_moments(input, norm);
  const at::Tensor all = at::empty({communicator.world_size(), own.numel()}, own.options());
  communicator.all_gather(all, own, "SyncBatchNorm statistics")->wait();
  // Read only where it may be too small: on a GPU reading waits for the stream.
  const double count = input.numel() <= input.size(1) ? all.select(1, -1).sum().item<double>() : 2;
  if (count == 0) {  // a ragged batch left this group of ranks nothing
    return {norm.running_mean.clone(), norm.running_var.clone(), at::ones({}, own.options())};
  }
  if (count == 1) {
    throw base::ConfigError(
        "SyncBatchNorm in training mode needs more than one value per channel over the ranks that "
        "share statistics: use "
        "more images per rank, larger images, or freeze the statistics");
  }
  return merge(all, norm);
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
    return normalise(input, weight, bias, mean, variance, eps);
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
    grads[0] = normalise(input, means[1], means[0], mean, variance, eps)
                   .addcmul_(grad, scale.view({1, -1, 1, 1}));
    return grads;
  }

 private:
  static at::Tensor normalise(const at::Tensor& input, const at::Tensor& weight,
                              const at::Tensor& bias, const at::Tensor& mean,
                              const at::Tensor& variance, double eps) {
    if (input.numel() == 0) return at::empty_like(input);
    return std::get<0>(at::native_batch_norm(input, weight, bias, mean, variance,
                                             /*training=*/false, /*momentum=*/0.0, eps));
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
