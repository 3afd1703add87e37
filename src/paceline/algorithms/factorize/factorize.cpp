#include "paceline/algorithms/factorize/factorize.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/init.h"
#include "paceline/nn/linear.h"
#include "paceline/tensor/host_tensor.h"
#include "paceline/tensor/storage.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <string>
#include <vector>

namespace paceline::algorithms {
namespace {

/// The group of their draws: 0 is that of the network's own parameters, 1 squeeze_excite's.
constexpr std::uint64_t kFactorGroup = 2;

const at::Tensor& weight_of(const nn::Conv2d& layer) { return layer.weight; }
const at::Tensor& weight_of(const nn::Linear& layer) { return layer.weight; }
const at::Tensor& weight_of(const nn::Head& layer) { return layer.weight(); }

/// Writes values on the host, wherever the parameter lies.
template <class Fill>
void give_values(const at::Tensor& parameter, Fill fill) {
  tensor::allocate_memory(parameter);
  tensor::fill_on_host(parameter, fill);
}

/// Takes layers of a network apart, one after the other.
class Splitter {
 public:
  Splitter(FactorInit init, std::uint64_t seed)
      : init_(init), key_{.seed = seed, .group = kFactorGroup} {}

  void split_conv(nn::Conv2d& conv, std::int64_t latent) {
    const bool had_bias = conv.bias.defined();
    split(conv, latent);
    if (!had_bias) {
      give_values(conv.bias, [&](const at::Tensor& host) {
        if (init_ == FactorInit::kFresh) {
          nn::default_bias(host, conv.weight, key_);
        } else {
          nn::constant(host, 0.0);
        }
      });
    }
    ++key_.index;
  }

  template <class Layer>
  void split(Layer& layer, std::int64_t latent) {
    const at::Tensor whole = weight_of(layer);
    layer.factorize(latent);
    const at::Tensor& first = layer.to_latent()->weight;
    const at::Tensor& second = weight_of(layer);
    if (init_ == FactorInit::kFresh) {
      draw(first);
      draw(second);
    } else if (tensor::has_memory(whole)) {
      const nn::Factors factors = nn::nearest_factors(whole, latent);
      give_values(first, [&](const at::Tensor& host) { host.copy_(factors.first); });
      give_values(second, [&](const at::Tensor& host) { host.copy_(factors.second); });
    }
  }

 private:
  void draw(const at::Tensor& factor) {
    give_values(factor, [&](const at::Tensor& host) { nn::default_weight(host, key_); });
    ++key_.index;
  }

  FactorInit init_;
  tensor::DrawKey key_;
};

/// The numbers between the factors of a convolution that is to have some; 0 for others.
std::int64_t latent_of(const nn::Conv2d& conv, const FactorizeConfig& config) {
  const std::int64_t in = conv.in_channels();
  const std::int64_t out = conv.weight.size(0);
  if (conv.options().groups > 1 || std::min(in, out) < config.min_channels) return 0;
  const std::int64_t latent = latent_size(config.latent_channels, in, out);
  return latent <= most_latent(conv.weight.numel() / out, out) ? latent : 0;
}

/// Likewise of a linear layer.
std::int64_t latent_of(const at::Tensor& weight, const FactorizeConfig& config) {
  if (!weight.defined()) return 0;  // a head that is no linear layer
  const std::int64_t in = weight.size(1);
  const std::int64_t out = weight.size(0);
  if (std::min(in, out) < config.min_features) return 0;
  const std::int64_t latent = latent_size(config.latent_features, in, out);
  return latent <= most_latent(in, out) ? latent : 0;
}

}  // namespace

std::int64_t latent_size(double setting, std::int64_t inputs, std::int64_t outputs) {
  if (setting >= 1) return static_cast<std::int64_t>(setting);
  const auto share =
      static_cast<std::int64_t>(setting * static_cast<double>(std::min(inputs, outputs)));
  return std::max<std::int64_t>(1, share);
}

std::int64_t most_latent(std::int64_t fan_in, std::int64_t outputs) {
  // latent * (fan_in + outputs) < fan_in * outputs
  return (fan_in * outputs - 1) / (fan_in + outputs);
}

train::LayerNames factorize_layers(torch::nn::Module& network, const FactorizeConfig& config,
                                   std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  train::LayerNames changed;
  Splitter splitter(config.init, seed);
  const auto split_linear = [&](const std::string& name, auto& layer) {
    const std::int64_t latent = latent_of(weight_of(layer), config);
    if (!config.factorize_linears || latent == 0) return;
    splitter.split(layer, latent);
    changed["linear layers"].push_back(name);
  };
  for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
    torch::nn::Module* const module = item.value().get();
    if (auto* const conv = dynamic_cast<nn::Conv2d*>(module); conv != nullptr) {
      const std::int64_t latent = latent_of(*conv, config);
      if (!config.factorize_convs || latent == 0) continue;
      splitter.split_conv(*conv, latent);
      changed["convolutions"].push_back(item.key());
    } else if (auto* const linear = dynamic_cast<nn::Linear*>(module); linear != nullptr) {
      split_linear(item.key(), *linear);
    } else if (auto* const head = dynamic_cast<nn::Head*>(module); head != nullptr) {
      split_linear(item.key(), *head);
    }
  }
  return changed;
}

train::AlgorithmTraits Factorize::traits() const {
  // Before what changes how convolutions compute: of two factors the first has the stride that
  // blurpool looks for, and squeeze_excite weighs what the second gives.
  constexpr int kBeforeOthers = -1;
  return {.events = {train::Event::kInit}, .order = kBeforeOthers, .changes_network = true};
}

void Factorize::apply(train::Event /*event*/, train::TrainState& state,
                      const train::RunContext& run) {
  layers_ = factorize_layers(state.task->network(), config_, run.seed);
  if (layers_.empty()) {
    throw base::ConfigError(
        fmt::format("algorithms.factorize finds no layer in this model that is wide enough "
                    "(min_channels {}, min_features {}) and would compute less (latent_channels "
                    "{}, latent_features {}): take it out, lower these, or choose a model like "
                    "resnet50",
                    config_.min_channels, config_.min_features, config_.latent_channels,
                    config_.latent_features));
  }
  if (!run.is_main_rank()) return;
  std::vector<std::string> counts;
  for (const auto& [kind, names] : layers_)
    counts.push_back(fmt::format("{} {}", names.size(), kind));
  base::log_info("factorize: {} are two each", base::join(counts, " and "));
}

std::unique_ptr<train::Algorithm> make(const FactorizeConfig& config) {
  return std::make_unique<Factorize>(config);
}

}  // namespace paceline::algorithms
