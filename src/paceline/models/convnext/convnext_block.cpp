#include "paceline/models/convnext/convnext_block.h"

#include "paceline/models/convnext/fused_block.h"
#include "paceline/nn/matmul.h"

#include <string>

namespace paceline::models {
namespace {

PixelLinear add_linear(torch::nn::Module& mlp, const std::string& name, std::int64_t in,
                       std::int64_t out, bool as_convolution) {
  if (as_convolution) {
    return {.conv = mlp.register_module(
                name, std::make_shared<nn::Conv2d>(in, out, 1, nn::Conv2d::Options{.bias = true}))};
  }
  return {.linear = mlp.register_module(name, std::make_shared<nn::Linear>(in, out))};
}

/// What a 1x1 convolution makes of [pixels, in].
at::Tensor convolve_pixels(const nn::Conv2d& conv, const at::Tensor& pixels) {
  const auto& to_latent = conv.to_latent();
  return nn::linear(to_latent ? convolve_pixels(*to_latent, pixels) : pixels,
                    conv.weight.flatten(1), conv.bias);
}

template <class Layer>
void count_pixels(const Layer& layer, const nn::ImageSize& size, nn::LayerCosts& costs) {
  if (layer.to_latent()) count_pixels(*layer.to_latent(), size, costs);
  costs.add(layer, 2.0 * static_cast<double>(size.height * size.width * layer.weight.numel()),
            {size.height, size.width, layer.weight.size(0)});
}

/// Autograd takes no undefined tensors among a node's inputs.
at::Tensor weight_or_empty(const at::Tensor& weight) {
  return weight.defined() ? weight : at::empty({0});
}

}  // namespace

at::Tensor PixelLinear::forward(const at::Tensor& pixels) const {
  return linear ? linear->forward(pixels) : convolve_pixels(*conv, pixels);
}

void PixelLinear::count(const nn::ImageSize& size, nn::LayerCosts& costs) const {
  if (linear) {
    count_pixels(*linear, size, costs);
  } else {
    count_pixels(*conv, size, costs);
  }
}

ConvNextBlock::ConvNextBlock(const ConvNextBlockConfig& config, std::uint64_t draw_index)
    : fused_(config.fused) {
  const std::int64_t dim = config.dim;
  if (config.layer_scale) gamma_ = register_parameter("gamma", at::empty({dim}));
  conv_dw_ = register_module(
      "conv_dw", std::make_shared<nn::Conv2d>(
                     dim, dim, 7, nn::Conv2d::Options{.padding = 3, .groups = dim, .bias = true}));
  norm_ = register_module("norm", std::make_shared<nn::LayerNorm>(dim, kConvNextNormEps));
  const auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
  fc1_ = add_linear(*mlp, "fc1", dim, 4 * dim, config.conv_mlp);
  if (config.use_grn)
    grn_ = mlp->register_module("grn", std::make_shared<nn::GlobalResponseNorm>(4 * dim));
  fc2_ = add_linear(*mlp, "fc2", 4 * dim, dim, config.conv_mlp);
  drop_path_ = register_module("drop_path",
                               std::make_shared<nn::DropPath>(config.drop_path_rate, draw_index));
  weights_ = {weight_or_empty(gamma_),
              conv_dw_->weight,
              conv_dw_->bias,
              norm_->weight,
              norm_->bias,
              fc1_.weight(),
              fc1_.bias(),
              grn_ ? grn_->weight : at::empty({0}),
              grn_ ? grn_->bias : at::empty({0}),
              fc2_.weight(),
              fc2_.bias()};
}

at::Tensor ConvNextBlock::forward(const at::Tensor& input,
                                  const nn::ForwardContext& context) const {
  return run(input, [=, this](const at::Tensor& x) { return compute(x, context); });
}

at::Tensor ConvNextBlock::compute(const at::Tensor& input,
                                  const nn::ForwardContext& context) const {
  const std::int64_t batch = input.size(0);
  if (const auto dtype = choose_fused(fused_, possible_dtype(input))) {
    // Layer scale has its parameter's type, which its results then have, too.
    const at::ScalarType branch_dtype = gamma_.defined() ? gamma_.scalar_type() : *dtype;
    const at::TensorOptions options = input.options().dtype(branch_dtype);
    return fused_convnext_block(
        input, weights_, {drop_path_->factors(options, batch, context), kConvNextNormEps, *dtype});
  }
  const at::Tensor normed = norm_->forward(conv_dw_->forward(input).permute({0, 2, 3, 1}));
  at::Tensor pixels = at::gelu(fc1_.forward(normed.flatten(0, 2)));
  if (grn_) pixels = grn_->forward(pixels.unflatten(0, {batch, -1})).flatten(0, 1);
  pixels = fc2_.forward(pixels);
  if (gamma_.defined()) pixels = pixels * gamma_;
  pixels = drop_path_->forward(pixels, batch, context);
  return pixels.view(normed.sizes()).permute({0, 3, 1, 2}) + input;
}

std::optional<at::ScalarType> ConvNextBlock::possible_dtype(const at::Tensor& input) const {
  if (!conv_dw_->is_plain() || fc1_.has_factors() || fc2_.has_factors()) return std::nullopt;
  return fused_convnext_block_dtype(input, weights_);
}

void ConvNextBlock::count(nn::ImageSize size, nn::LayerCosts& costs) const {
  conv_dw_->count(size, costs);
  fc1_.count(size, costs);
  fc2_.count(size, costs);
}

ConvNextDownsample::ConvNextDownsample(std::int64_t in_dim, std::int64_t out_dim) {
  norm_ = register_module("0", std::make_shared<nn::LayerNorm>(in_dim, kConvNextNormEps));
  conv_ =
      register_module("1", std::make_shared<nn::Conv2d>(
                               in_dim, out_dim, 2, nn::Conv2d::Options{.stride = 2, .bias = true}));
}

at::Tensor ConvNextDownsample::forward(const at::Tensor& input) const {
  return run(input,
             [this](const at::Tensor& x) { return conv_->forward(norm_->forward_channels(x)); });
}

}  // namespace paceline::models
