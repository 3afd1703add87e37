#include "paceline/algorithms/blurpool/blurpool.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/max_pool.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <memory>
#include <utility>

namespace paceline::algorithms {
namespace {

class BlurredConv final : public nn::ConvMethod {
 public:
  BlurredConv(at::Tensor kernel, bool blur_first)
      : kernel_(std::move(kernel)), blur_first_(blur_first) {}
  at::Tensor forward(const nn::Conv2d& conv, const at::Tensor& input) const override {
    const std::int64_t stride = conv.options().stride;
    return blur_first_ ? conv.convolve(blur(input, kernel_, 1), stride)
                       : blur(conv.convolve(input, 1), kernel_, stride);
  }

 private:
  at::Tensor kernel_;
  bool blur_first_;
};

class BlurredMaxPool final : public nn::MaxPoolMethod {
 public:
  explicit BlurredMaxPool(at::Tensor kernel) : kernel_(std::move(kernel)) {}
  at::Tensor forward(const nn::MaxPool2d& pool, const at::Tensor& input) const override {
    return blur(pool.pool(input, 1), kernel_, pool.options().stride);
  }

 private:
  at::Tensor kernel_;
};

}  // namespace

at::Tensor blur_kernel(const at::TensorOptions& options) {
  const at::Tensor row = at::tensor({0.25, 0.5, 0.25}, at::kDouble);
  return at::outer(row, row)
      .view({1, 1, 3, 3})
      .to(options.device(), options.dtype().toScalarType());
}

at::Tensor blur(const at::Tensor& input, const at::Tensor& kernel, std::int64_t stride) {
  const std::int64_t channels = input.size(1);
  return at::conv2d(input, kernel.to(input.scalar_type()).expand({channels, 1, 3, 3}), {},
                    {stride, stride}, {1, 1}, {1, 1}, channels);
}

BlurredLayers blur_layers(torch::nn::Module& network, const BlurPoolConfig& config) {
  BlurredLayers changed;
  const auto parameters = network.parameters();
  PACELINE_CHECK(!parameters.empty(), "a network without parameters");
  const at::Tensor kernel = blur_kernel(parameters.front().options());
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (auto* const conv = dynamic_cast<nn::Conv2d*>(module.get()); conv != nullptr) {
      const bool is_wanted = config.replace_convs && conv->options().stride > 1 &&
                             conv->in_channels() >= config.min_channels;
      if (!is_wanted) continue;
      conv->set_method(std::make_shared<BlurredConv>(kernel, config.blur_first));
      ++changed.convs;
    } else if (auto* const pool = dynamic_cast<nn::MaxPool2d*>(module.get()); pool != nullptr) {
      if (!config.replace_maxpools) continue;
      pool->set_method(std::make_shared<BlurredMaxPool>(kernel));
      ++changed.max_pools;
    }
  }
  return changed;
}

void BlurPool::apply(train::Event /*event*/, train::TrainState& state,
                     const train::RunContext& run) {
  const BlurredLayers changed = blur_layers(state.task->network(), config_);
  if (changed.convs + changed.max_pools == 0) {
    throw base::ConfigError(
        "algorithms.blurpool finds no layer to blur in this model (a convolution with a stride and "
        "min_channels, or a max-pool): take it out, or choose a model like resnet50");
  }
  if (run.is_main_rank())
    base::log_info("blurpool: {} convolutions and {} max-pools are blurred", changed.convs,
                   changed.max_pools);
}

std::unique_ptr<train::Algorithm> make(const BlurPoolConfig& config) {
  return std::make_unique<BlurPool>(config);
}

}  // namespace paceline::algorithms
