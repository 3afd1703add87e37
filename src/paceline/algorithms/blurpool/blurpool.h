#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace paceline::algorithms {

struct BlurPoolConfig {
  bool replace_convs = true;
  bool replace_maxpools = true;
  bool blur_first = true;
  std::int64_t min_channels = 16;
};

/// Blurs before what skips pixels, so that small shifts of an image change little: convolutions
/// with a stride and at least `min_channels` input channels, and max-pools, by [1 2 1] in both
/// directions. Parameters, their names and first values stay.
///
/// With `blur_first` a convolution sees a blurred input; else it is taken at stride 1 and its
/// output is blurred with the stride. A max-pool is always taken at stride 1 first.
/// Paper: Zhang, "Making convolutional networks shift-invariant again", ICML 2019.
class BlurPool final : public train::Algorithm {
 public:
  explicit BlurPool(const BlurPoolConfig& config) : config_(config) {}

  std::string_view name() const override { return "blurpool"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kInit}, .changes_network = true};
  }
  /// Throws ConfigError where the network has no such layer.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  train::LayerNames changed_layers() const override { return layers_; }

 private:
  BlurPoolConfig config_;
  train::LayerNames layers_;
};

/// What BlurPool does to a network, whose parameters lie where it will compute. Returns which
/// "convolutions" and "max-pools" were changed, without a kind of which there are none.
train::LayerNames blur_layers(torch::nn::Module& network, const BlurPoolConfig& config);

/// Blurs [N, C, H, W] by [1 2 1] / 4 in both directions, with zeros around; every `stride`-th row
/// and column is kept. `kernel`: blur_kernel().
at::Tensor blur(const at::Tensor& input, const at::Tensor& kernel, std::int64_t stride);
at::Tensor blur_kernel(const at::TensorOptions& options);

std::unique_ptr<train::Algorithm> make(const BlurPoolConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::BlurPoolConfig> {
  using Config = paceline::algorithms::BlurPoolConfig;
  static constexpr std::string_view name = "blurpool";
  static constexpr std::string_view summary = "Blurs before layers that skip pixels.";
  static constexpr std::string_view paper = "Zhang, 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::replace_convs, "replace_convs", "Blur at convolutions with a stride."),
      field(&Config::replace_maxpools, "replace_maxpools", "Blur behind max-pools."),
      field(&Config::blur_first, "blur_first",
            "Before the convolution, or behind it at the stride it had."),
      field(&Config::min_channels, "min_channels",
            "Convolutions of fewer input channels stay as they are.", AtLeast{1},
            AtMost{1'000'000, "no convolution has more"})};

  static void validate(const Config& value, Problems& problems) {
    if (!value.replace_convs && !value.replace_maxpools)
      problems.add("replace_maxpools", "and replace_convs are both false: nothing is left to blur");
  }
};
