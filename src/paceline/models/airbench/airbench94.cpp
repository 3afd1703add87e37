#include "paceline/models/airbench/airbench94.h"

#include "paceline/base/error.h"
#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/aten.h"

#include <algorithm>

namespace paceline::models {
namespace {

constexpr std::int64_t kPatch = 2;      ///< side of what is whitened
constexpr double kWhiteningEps = 5e-4;  ///< of pixels as the network sees them
constexpr std::int64_t kLeastSize = 9;  ///< 8 after the whitening, halved three times
constexpr double kNormEps = 1e-12;
constexpr double kNormMomentum = 0.4;
constexpr std::string_view kWhiteningName = "0.weight";

void check_airbench_size(std::int64_t height, std::int64_t width) {
  if (height >= kLeastSize && width >= kLeastSize) return;
  throw base::ConfigError(fmt::format(
      "model.name: airbench94 takes images of at least {0}x{0} pixels, got {1}x{2}: set "
      "data.image_size, or choose another model",
      kLeastSize, height, width));
}

nn::ConvStep add_group_step(torch::nn::Module& group, const std::string& number,
                            std::int64_t in_channels, std::int64_t out_channels) {
  nn::ConvStep step{
      group.register_module("conv" + number,
                            std::make_shared<nn::Conv2d>(in_channels, out_channels, 3,
                                                         nn::Conv2d::Options{.padding = 1})),
      group.register_module("norm" + number, std::make_shared<nn::BatchNorm2d>(
                                                 out_channels, kNormEps, kNormMomentum))};
  step.norm->weight.set_requires_grad(false);
  return step;
}

/// [N, C, H, W] to all patches of it, a row each: [N * (H - size + 1) * (W - size + 1), C * size *
/// size].
at::Tensor patches_of(const at::Tensor& images, std::int64_t size) {
  const at::Tensor windows = images.unfold(2, size, 1).unfold(3, size, 1);
  return windows.permute({0, 2, 3, 1, 4, 5}).reshape({-1, images.size(1) * size * size});
}

/// The first outputs repeat the inputs: torch.nn.init.dirac_ of the first rows.
void write_identity(const at::Tensor& weight) {
  const std::int64_t count = std::min(weight.size(0), weight.size(1));
  const std::int64_t middle = weight.size(2) / 2;
  weight.slice(0, 0, weight.size(1)).zero_();
  weight.slice(0, 0, count)
      .slice(1, 0, count)
      .select(2, middle)
      .select(2, middle)
      .diagonal()
      .fill_(1.0);
}

}  // namespace

Airbench94Group::Airbench94Group(std::int64_t in_channels, std::int64_t out_channels)
    : first_(add_group_step(*this, "1", in_channels, out_channels)),
      pool_(register_module("pool", std::make_shared<nn::MaxPool2d>(
                                        nn::MaxPool2d::Options{.kernel_size = 2, .stride = 2}))),
      second_(add_group_step(*this, "2", out_channels, out_channels)) {}

at::Tensor Airbench94Group::forward(const at::Tensor& input) const {
  return run(input, [this](const at::Tensor& x) {
    const at::Tensor pooled = pool_->forward(first_.conv->forward(x));
    return at::gelu(second_.forward(at::gelu(first_.norm->forward(pooled))));
  });
}

void Airbench94Group::count(nn::ImageSize& size, nn::LayerCosts& costs) const {
  first_.conv->count(size, costs);
  pool_->count(first_.conv->weight.size(0), size, costs);
  second_.conv->count(size, costs);
}

Airbench94::Airbench94(const Airbench94Config& config) : config_(config) {
  if (config.widths.size() != 3)
    throw base::ConfigError(
        fmt::format("model.widths has one number for each of airbench94's three groups, got {}",
                    config.widths.size()));
  std::int64_t channels = 2 * kPatch * kPatch * config.in_channels;
  whitening_ =
      register_module("0", std::make_shared<nn::Conv2d>(config.in_channels, channels, kPatch,
                                                        nn::Conv2d::Options{.bias = true}));
  whitening_->weight.set_requires_grad(false);
  for (std::size_t i = 0; i < config.widths.size(); ++i) {
    groups_.push_back(register_module(
        std::to_string(i + 2), std::make_shared<Airbench94Group>(channels, config.widths[i])));
    channels = config.widths[i];
  }
  head_ = register_module("7", std::make_shared<nn::Head>(channels, config.num_classes, config.head,
                                                          /*has_bias=*/false));
}

at::Tensor Airbench94::forward_images(const at::Tensor& images,
                                      const nn::ForwardContext& /*context*/) {
  check_airbench_size(images.size(2), images.size(3));
  at::Tensor x = at::gelu(whitening_->forward(images));
  for (const auto& group : groups_) x = group->forward(x);
  const at::Tensor largest = at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1);
  return head_->forward(largest) * config_.logit_scale;
}

void Airbench94::initialize_parameter(const nn::NamedTensor& parameter,
                                      const tensor::DrawKey& key) const {
  if (head_->initialize_mlp("7", parameter, key)) return;
  const at::Tensor& tensor = parameter.tensor;
  if (parameter.name == "0.bias") return nn::default_bias(tensor, whitening_->weight, key);
  if (tensor.dim() == 1) return nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  nn::default_weight(tensor, key);
  if (tensor.dim() == 4 && parameter.name != kWhiteningName) {
    const at::NoGradGuard no_grad;
    write_identity(tensor);
  }
}

std::map<std::string, at::Tensor> Airbench94::values_of_images(const at::Tensor& images) const {
  return {{std::string(kWhiteningName), whitening_filters(images, kPatch, kWhiteningEps)}};
}

void Airbench94::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  check_airbench_size(size.height, size.width);
  whitening_->count(size, costs);
  for (const auto& group : groups_) group->count(size, costs);
  head_->count(costs);
}

at::Tensor whitening_filters(const at::Tensor& images, std::int64_t size, double eps) {
  constexpr std::int64_t kImagesAtOnce = 100;  // whose patches fit the cache
  const at::NoGradGuard no_grad;
  const std::int64_t length = images.size(1) * size * size;
  at::Tensor moments = at::zeros({length, length}, at::kDouble);
  std::int64_t num_patches = 0;
  for (const at::Tensor& some : images.split(kImagesAtOnce)) {
    const at::Tensor patches = patches_of(some.to(at::kDouble), size);
    moments.addmm_(patches.t(), patches);
    num_patches += patches.size(0);
  }
  auto [values, vectors] = at::linalg_eigh(moments / static_cast<double>(num_patches));
  const at::Tensor rows = vectors.t().flip(0);  // the strongest first
  const at::Tensor largest = rows.gather(1, rows.abs().argmax(1, /*keepdim=*/true));
  const at::Tensor scale = largest.sign() / (values.flip(0) + eps).sqrt().unsqueeze(1);
  const at::Tensor filters = (rows * scale).view({length, images.size(1), size, size});
  return at::cat({filters, -filters}).to(at::kFloat);
}

std::unique_ptr<nn::Network> make(const Airbench94Config& config) {
  return std::make_unique<Airbench94>(config);
}

}  // namespace paceline::models
