#include "paceline/nn/volume/depth_lift.h"

namespace paceline::nn {
namespace {

constexpr std::int64_t kLiftGroups = 8;

}  // namespace

DepthLift::DepthLift(std::int64_t dim, std::int64_t num_layers) : num_layers_(num_layers) {
  const Conv2d::Options with_bias{.bias = true};
  hidden_ = register_module(
      "hidden", std::make_shared<Conv2d>(dim, dim / 4, 3, Conv2d::Options{.padding = 1}));
  norm_ = register_module("norm", std::make_shared<GroupNorm>(kLiftGroups, dim / 4));
  depths_ = register_module("depths", std::make_shared<Conv2d>(dim / 4, num_layers, 1, with_bias));
  value_ = register_module("value", std::make_shared<Conv2d>(dim, 1, 1, with_bias));
}

at::Tensor DepthLift::forward(const at::Tensor& features) const {
  return run(features, [this](const at::Tensor& x) {
    const at::Tensor hidden = at::silu(norm_->forward(hidden_->forward(x)));
    const at::Tensor weights = at::softmax(depths_->forward(hidden), 1);
    return weights * (value_->forward(x) * num_layers_);
  });
}

void DepthLift::count(const ImageSize& features, LayerCosts& costs) const {
  for (const auto& conv : {hidden_, depths_, value_}) {
    ImageSize size = features;
    conv->count(size, costs);
  }
}

}  // namespace paceline::nn
