#pragma once

#include "paceline/algorithms/microbatch/images.h"
#include "paceline/algorithms/mixing/draws.h"
#include "paceline/algorithms/mixing/mixing.h"
#include "paceline/config/schema.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace paceline::algorithms {

/// What a recipe says of mixing.
struct MixupConfig {
  double alpha = 0.2;  ///< shares are of Beta(alpha, alpha); 0: nothing is mixed
  bool fold = true;    ///< shares, so that a sample stays at least half itself
  Partner partner = Partner::kPermutation;
  bool interpolate_loss = false;           ///< mix losses, not targets
  std::optional<std::int64_t> group = {};  ///< samples that share a draw; nothing: the microbatch
};

/// At most a half: min(share, 1 - share).
double folded(double share);

Mixture draw_mixture(const MixupConfig& config, const SampleGroup& group);

/// Has images be weighted means of two. Paper: Zhang et al., "mixup: Beyond empirical risk
/// minimization", ICLR 2018.
class Mixup final : public Mixing {
 public:
  explicit Mixup(const MixupConfig& config)
      : Mixing({kMixupOrder, config.interpolate_loss, config.group}), config_(config) {}

  std::string_view name() const override { return "mixup"; }
  const MixupConfig& config() const { return config_; }

 private:
  Mixture draw(const SampleGroup& group, const at::Tensor& images) const override;
  at::Tensor mixed(const at::Tensor& images, const MixedBy& by) const override;

  MixupConfig config_;
};

std::unique_ptr<train::Algorithm> make(const MixupConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::MixupConfig> {
  using Config = paceline::algorithms::MixupConfig;
  static constexpr std::string_view name = "mixup";
  static constexpr std::string_view summary =
      "Mixes each image, and what it is learnt as, with another one of its microbatch.";
  static constexpr std::string_view paper = "Zhang et al., 2018";
  static constexpr auto fields = std::tuple{
      field(&Config::alpha, "alpha",
            "The share that is mixed in is of Beta(alpha, alpha); 0 mixes nothing.", AtLeast{0},
            AtMost{1e6, "every share would be a half"}),
      field(&Config::fold, "fold",
            "At most a half is mixed in, so that a sample's own label counts most (as Composer); "
            "false: any share (as timm and torchvision)."),
      algorithms::partner_field<Config>(), algorithms::interpolate_loss_field<Config>(),
      algorithms::group_field<Config>()};
  static void validate(const Config& config, Problems& problems) {
    algorithms::check_group(config, problems);
  }
};
