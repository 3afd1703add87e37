#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>

namespace paceline::algorithms {

/// What factors start from.
enum class FactorInit {
  kFresh,  ///< draws, as of any layer of their sizes
  kSvd,    ///< the nearest product to the weight that the layer would have had
};

struct FactorizeConfig {
  bool factorize_convs = true;
  bool factorize_linears = true;
  std::int64_t min_channels = 256;
  double latent_channels = 0.25;
  std::int64_t min_features = 256;
  double latent_features = 128;
  FactorInit init = FactorInit::kFresh;
};

/// Makes wide layers two narrow ones: a convolution without groups, one of the same kernel, stride
/// and padding to few channels and a 1x1 convolution with a bias; a linear layer, two. Layers that
/// would not compute less by it stay.
///
/// The first one is called `to_latent` below the layer ("fc.to_latent.weight", [latent, in]), and
/// the second one has the layer's own names ("fc.weight", [out, latent]). With `init: fresh` both
/// start as torch.nn.Conv2d and Linear do, and as Composer's, from draws of their own, so that all
/// other first values are those of the plain network. With `svd` they are the nearest product to
/// what the plain layer starts from, model.pretrained's weight or its draw, and new biases are 0;
/// this is ours, and what Composer's factorize_matrix comes to where nothing is known of a layer's
/// inputs. Weights of a factorized network are read into the factors with either.
/// Paper of decomposed convolutions: Denton et al., "Exploiting linear structure within
/// convolutional networks for efficient evaluation", NIPS 2014; of such starts: Khodak et al.,
/// "Initialization and regularization of factorized neural layers", ICLR 2021.
class Factorize final : public train::Algorithm {
 public:
  explicit Factorize(const FactorizeConfig& config) : config_(config) {}

  std::string_view name() const override { return "factorize"; }
  train::AlgorithmTraits traits() const override;
  /// Throws ConfigError where the network has no such layer.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  train::LayerNames changed_layers() const override { return layers_; }

 private:
  FactorizeConfig config_;
  train::LayerNames layers_;
};

/// The numbers between two factors that `setting` asks for: itself, or below 1 that share of the
/// fewer inputs or outputs, at least one.
std::int64_t latent_size(double setting, std::int64_t inputs, std::int64_t outputs);

/// The most between `fan_in` numbers and `outputs` with which two products are less than one.
std::int64_t most_latent(std::int64_t fan_in, std::int64_t outputs);

/// What Factorize does to a network; draws are by `seed`. Factors have values with `fresh`, and
/// with `svd` where the layer's weight has; they are without memory like it otherwise. Returns
/// which "convolutions" and "linear layers" were changed, without a kind of which there are none.
train::LayerNames factorize_layers(torch::nn::Module& network, const FactorizeConfig& config,
                                   std::uint64_t seed);

std::unique_ptr<train::Algorithm> make(const FactorizeConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::FactorInit> {
  using Init = paceline::algorithms::FactorInit;
  static constexpr std::array names{EnumName{Init::kFresh, "fresh"}, EnumName{Init::kSvd, "svd"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::FactorizeConfig> {
  using Config = paceline::algorithms::FactorizeConfig;
  static constexpr std::string_view name = "factorize";
  static constexpr std::string_view summary = "Makes wide layers two that compute less.";
  static constexpr std::string_view paper = "Denton et al., 2014";
  static constexpr auto fields = std::tuple{
      field(&Config::factorize_convs, "factorize_convs", "Factorize convolutions without groups."),
      field(&Config::factorize_linears, "factorize_linears", "Factorize linear layers."),
      field(&Config::min_channels, "min_channels",
            "Convolutions of fewer input or output channels stay as they are.", AtLeast{1},
            AtMost{1'000'000, "no convolution has more"}),
      field(&Config::latent_channels, "latent_channels",
            "Channels between the two; below 1 a share of the fewer of input and output channels. "
            "A convolution to which so many save nothing stays.",
            MoreThan{0}, AtMost{1'000'000, "no convolution has more"}),
      field(&Config::min_features, "min_features",
            "Linear layers of fewer inputs or outputs stay as they are.", AtLeast{1},
            AtMost{1'000'000, "no layer has more"}),
      field(&Config::latent_features, "latent_features",
            "Numbers between the two; below 1 a share of the fewer of inputs and outputs. A layer "
            "to which so many save nothing stays.",
            MoreThan{0}, AtMost{1'000'000, "no layer has more"}),
      field(&Config::init, "init",
            "Draws of their own, or what is nearest to the layer's own start, such as "
            "model.pretrained's weights.")};

  static void validate(const Config& value, Problems& problems) {
    if (!value.factorize_convs && !value.factorize_linears)
      problems.add("factorize_linears",
                   "and factorize_convs are both false: nothing is left to factorize");
    const auto check = [&](std::string_view key, double latent) {
      if (latent >= 1 && latent != std::floor(latent))
        problems.add(key, "must be a whole number, or a share below 1");
    };
    check("latent_channels", value.latent_channels);
    check("latent_features", value.latent_features);
  }
};
