#include "paceline/nn/batch_norm.h"

#include "paceline/base/error.h"
#include "paceline/nn/rerun.h"

#include <algorithm>

namespace paceline::nn {

BatchNorm2d::BatchNorm2d(std::int64_t channels, double eps, double momentum)
    : eps_(eps), momentum_(momentum) {
  weight = register_parameter("weight", at::ones({channels}));
  bias = register_parameter("bias", at::zeros({channels}));
  running_mean = register_buffer("running_mean", at::zeros({channels}));
  running_var = register_buffer("running_var", at::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
}

at::Tensor BatchNorm2d::forward(const at::Tensor& input) const {
  const auto normalise = [&](const at::Tensor& mean, const at::Tensor& variance) {
    return at::batch_norm(input, weight, bias, mean, variance, uses_batch_statistics(), momentum_,
                          eps_, at::globalContext().userEnabledCuDNN());
  };
  if (!uses_batch_statistics()) return normalise(running_mean, running_var);
  if (!training_kernel_ && input.numel() <= input.size(1)) {
    throw base::ConfigError(fmt::format(
        "BatchNorm in training mode needs more than one value per channel; its input is "
        "[{}, {}, {}, {}]: if it is the last batch of an epoch, leave that out by "
        "data.drop_last=true; else use more images per rank, larger images, or "
        "model.freeze_batch_norm=true",
        input.size(0), input.size(1), input.size(2), input.size(3)));
  }
  const bool moves_statistics = !Rerun::is_repeating();
  if (moves_statistics) num_batches_tracked.add_(1);
  if (training_kernel_) return training_kernel_(input, *this);
  return moves_statistics ? normalise(running_mean, running_var) : normalise({}, {});
}

int set_batch_norm_frozen(torch::nn::Module& module, bool frozen) {
  int count = 0;
  module.apply([&](torch::nn::Module& below) {
    if (auto* norm = below.as<BatchNorm2d>()) {
      norm->set_frozen(frozen);
      ++count;
    }
  });
  return count;
}

bool has_training_kernels(const torch::nn::Module& module) {
  return std::ranges::any_of(module.modules(), [](const auto& below) {
    const auto* norm = below->template as<BatchNorm2d>();
    return norm != nullptr && norm->has_training_kernel();
  });
}

}  // namespace paceline::nn
