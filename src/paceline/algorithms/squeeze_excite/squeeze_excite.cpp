#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/blocks/squeeze_excitation.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/host_tensor.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::algorithms {
namespace {

/// The group of its draws; 0 is that of the network's own parameters.
constexpr std::uint64_t kDrawGroup = 1;

class ExcitedConv final : public nn::ConvMethod {
 public:
  /// `before` makes what is weighed; null: the plain convolution.
  ExcitedConv(std::shared_ptr<const nn::ConvMethod> before,
              std::shared_ptr<const nn::SqueezeExcitation> excitation)
      : before_(std::move(before)), excitation_(std::move(excitation)) {}
  at::Tensor forward(const nn::Conv2d& conv, const at::Tensor& input) const override {
    return excitation_->forward(before_ ? before_->forward(conv, input)
                                        : conv.convolve(input, conv.options().stride));
  }
  double flops(const nn::Conv2d& conv, const nn::ImageSize& input) const override {
    nn::LayerCosts own;
    excitation_->count(own);
    return own.flops() + (before_ ? before_->flops(conv, input)
                                  : conv.convolve_flops(input, conv.options().stride));
  }

 private:
  std::shared_ptr<const nn::ConvMethod> before_;
  std::shared_ptr<const nn::SqueezeExcitation> excitation_;
};

struct NamedConv {
  std::string name;
  nn::Conv2d* conv;
  std::int64_t latent_channels;
};

/// Those that are to be changed.
std::vector<NamedConv> wide_convs(const torch::nn::Module& network,
                                  const SqueezeExciteConfig& config) {
  std::vector<NamedConv> found;
  for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
    auto* const conv = dynamic_cast<nn::Conv2d*>(item.value().get());
    if (conv == nullptr || nn::is_of_first_factor(item.key())) continue;
    const std::int64_t out_channels = conv->weight.size(0);
    if (std::min(conv->in_channels(), out_channels) < config.min_channels) continue;
    const double latent = config.latent_channels < 1
                              ? config.latent_channels * static_cast<double>(out_channels)
                              : config.latent_channels;
    found.push_back({item.key(), conv, static_cast<std::int64_t>(latent)});
    if (found.back().latent_channels >= 1) continue;
    throw base::ConfigError(
        fmt::format("algorithms.squeeze_excite.latent_channels: a share of {} leaves none of the "
                    "{} channels of {}: take a larger one, or a number of channels",
                    config.latent_channels, out_channels, item.key()));
  }
  return found;
}

/// Draws on the host, wherever the parameters lie.
void initialize(const nn::SqueezeExcitation& excitation, tensor::DrawKey& key) {
  const at::NoGradGuard no_grad;
  for (const nn::NamedTensor& parameter : nn::named_parameters(excitation)) {
    tensor::fill_on_host(parameter.tensor,
                         [&](const at::Tensor& host) { nn::default_weight(host, key); });
    ++key.index;
  }
}

}  // namespace

train::LayerNames excite_layers(torch::nn::Module& network, const SqueezeExciteConfig& config,
                                std::uint64_t seed) {
  train::LayerNames changed;
  tensor::DrawKey key{.seed = seed, .group = kDrawGroup};
  for (const auto& [name, conv, latent_channels] : wide_convs(network, config)) {
    const auto excitation = std::make_shared<nn::SqueezeExcitation>(
        conv->weight.size(0), latent_channels, nn::Activation::kRelu, nn::Activation::kSigmoid,
        /*has_bias=*/false);
    nn::set_dtype(*excitation, conv->weight.scalar_type());
    nn::set_device(*excitation, conv->weight.device());
    initialize(*excitation, key);
    conv->register_module("se", excitation);
    conv->set_method(std::make_shared<ExcitedConv>(conv->method(), excitation));
    changed["convolutions"].push_back(name);
  }
  return changed;
}

void SqueezeExcite::apply(train::Event /*event*/, train::TrainState& state,
                          const train::RunContext& run) {
  layers_ = excite_layers(state.task->network(), config_, run.seed);
  if (layers_.empty()) {
    throw base::ConfigError(
        fmt::format("algorithms.squeeze_excite finds no convolution of at least {} input and "
                    "output channels in this model: take it out, lower min_channels, or choose a "
                    "model like resnet50",
                    config_.min_channels));
  }
  if (!run.is_main_rank()) return;
  base::log_info("squeeze_excite: the channels behind {} convolutions are weighed",
                 layers_.at("convolutions").size());
}

std::unique_ptr<train::Algorithm> make(const SqueezeExciteConfig& config) {
  return std::make_unique<SqueezeExcite>(config);
}

}  // namespace paceline::algorithms
