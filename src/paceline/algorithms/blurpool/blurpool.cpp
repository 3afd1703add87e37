#include "paceline/algorithms/blurpool/blurpool.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/max_pool.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::algorithms {
namespace {

/// Of blur(), for one image of that size before it.
double blur_flops(std::int64_t channels, const nn::ImageSize& input, std::int64_t stride) {
  constexpr double kTaps = 9;
  const std::int64_t height = (input.height - 1) / stride + 1;
  const std::int64_t width = (input.width - 1) / stride + 1;
  return 2 * kTaps * static_cast<double>(channels * height * width);
}

class BlurredConv final : public nn::ConvMethod {
 public:
  BlurredConv(at::Tensor kernel, bool blur_first)
      : kernel_(std::move(kernel)), blur_first_(blur_first) {}
  at::Tensor forward(const nn::Conv2d& conv, const at::Tensor& input) const override {
    const std::int64_t stride = conv.options().stride;
    return blur_first_ ? conv.convolve(blur(input, kernel_, 1), stride)
                       : blur(conv.convolve(input, 1), kernel_, stride);
  }
  double flops(const nn::Conv2d& conv, const nn::ImageSize& input) const override {
    const std::int64_t stride = conv.options().stride;
    return blur_first_
               ? blur_flops(conv.in_channels(), input, 1) + conv.convolve_flops(input, stride)
               : conv.convolve_flops(input, 1) +
                     blur_flops(conv.weight.size(0), conv.output_size(input, 1), stride);
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
  double flops(const nn::MaxPool2d& pool, std::int64_t channels,
               const nn::ImageSize& input) const override {
    return blur_flops(channels, pool.output_size(input, 1), pool.options().stride);
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

train::LayerNames blur_layers(torch::nn::Module& network, const BlurPoolConfig& config) {
  train::LayerNames changed;
  const auto parameters = network.parameters();
  PACELINE_CHECK(!parameters.empty(), "a network without parameters");
  const at::Tensor kernel = blur_kernel(parameters.front().options());
  for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
    torch::nn::Module* const module = item.value().get();
    if (auto* const conv = dynamic_cast<nn::Conv2d*>(module); conv != nullptr) {
      const bool is_wanted = config.replace_convs && conv->options().stride > 1 &&
                             conv->in_channels() >= config.min_channels &&
                             !conv->to_latent();  // which has the stride, and is one of these
      if (!is_wanted) continue;
      conv->set_method(std::make_shared<BlurredConv>(kernel, config.blur_first));
      changed["convolutions"].push_back(item.key());
    } else if (auto* const pool = dynamic_cast<nn::MaxPool2d*>(module); pool != nullptr) {
      if (!config.replace_maxpools) continue;
      pool->set_method(std::make_shared<BlurredMaxPool>(kernel));
      changed["max-pools"].push_back(item.key());
    }
  }
  return changed;
}

void BlurPool::apply(train::Event /*event*/, train::TrainState& state,
                     const train::RunContext& run) {
  layers_ = blur_layers(state.task->network(), config_);
  if (layers_.empty()) {
    throw base::ConfigError(
        "algorithms.blurpool finds no layer to blur in this model (a convolution with a stride and "
        "min_channels, or a max-pool): take it out, or choose a model like resnet50");
  }
  if (!run.is_main_rank()) return;
  std::vector<std::string> counts;
  for (const auto& [kind, names] : layers_)
    counts.push_back(fmt::format("{} {}", names.size(), kind));
  base::log_info("blurpool: {} are blurred", base::join(counts, " and "));
}

std::unique_ptr<train::Algorithm> make(const BlurPoolConfig& config) {
  return std::make_unique<BlurPool>(config);
}

}  // namespace paceline::algorithms
