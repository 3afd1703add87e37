#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/algorithm.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>

namespace paceline::algorithms {

struct SqueezeExciteConfig {
  double latent_channels = 64;
  std::int64_t min_channels = 128;
};

/// Lets a network weigh channels by what the whole image shows: each convolution with at least
/// `min_channels` input and output channels is followed by nn::SqueezeExcitation, without biases,
/// with a ReLU between `latent_channels` numbers and a sigmoid at the end.
///
/// The new layers are called `se` below their convolution ("layer3.0.conv2.se.fc1.weight"), whose
/// own names stay; they start as torch.nn.Linear does, from draws of their own, so that all other
/// first values are those of the plain network. What blurs a convolution comes before them.
/// Paper: Hu et al., "Squeeze-and-excitation networks", 2018.
class SqueezeExcite final : public train::Algorithm {
 public:
  explicit SqueezeExcite(const SqueezeExciteConfig& config) : config_(config) {}

  std::string_view name() const override { return "squeeze_excite"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kInit}, .order = 1, .changes_network = true};
  }
  /// Throws ConfigError where the network has no such layer.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  train::LayerNames changed_layers() const override { return layers_; }

 private:
  SqueezeExciteConfig config_;
  train::LayerNames layers_;
};

/// What SqueezeExcite does to a network; the new parameters lie where the convolution's do, and are
/// drawn from `seed`. Returns which "convolutions" were changed, empty if none was. Throws
/// ConfigError, with nothing changed, for a fraction that leaves some layer no channel.
train::LayerNames excite_layers(torch::nn::Module& network, const SqueezeExciteConfig& config,
                                std::uint64_t seed);

std::unique_ptr<train::Algorithm> make(const SqueezeExciteConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::SqueezeExciteConfig> {
  using Config = paceline::algorithms::SqueezeExciteConfig;
  static constexpr std::string_view name = "squeeze_excite";
  static constexpr std::string_view summary =
      "Weighs the channels behind wide convolutions by their means over the image.";
  static constexpr std::string_view paper = "Hu et al., 2018";
  static constexpr auto fields = std::tuple{
      field(&Config::latent_channels, "latent_channels",
            "Numbers that the means are squeezed to; below 1 a share of the convolution's output "
            "channels.",
            MoreThan{0}, AtMost{1'000'000, "no convolution has more"}),
      field(&Config::min_channels, "min_channels",
            "Convolutions of fewer input or output channels stay as they are.", AtLeast{1},
            AtMost{1'000'000, "no convolution has more"})};

  static void validate(const Config& value, Problems& problems) {
    if (value.latent_channels >= 1 && value.latent_channels != std::floor(value.latent_channels))
      problems.add("latent_channels", "must be a whole number, or a share below 1");
  }
};
