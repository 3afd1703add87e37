#pragma once

#include "paceline/algorithms/microbatch/images.h"
#include "paceline/algorithms/mixing/draws.h"
#include "paceline/algorithms/mixing/mixing.h"
#include "paceline/config/schema.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::algorithms {

struct CutmixConfig {
  double alpha = 1;               ///< what stays of an image is of Beta(alpha, alpha); 0: all
  bool uniform_sampling = false;  ///< as centre_range()
  Partner partner = Partner::kPermutation;
  bool interpolate_loss = false;  ///< mix losses, not targets
  Turns with_mixup = Turns::kSwitch;
  std::optional<std::int64_t> group = {};  ///< samples that share a draw; nothing: the microbatch
};

/// Of a box that leaves the share `lambda` of an image, before it is cut off at borders.
nn::ImageSize box_size(double lambda, nn::ImageSize image);

/// Its share is that of the box in the image, as it is after it was cut off.
Mixture draw_cut(const CutmixConfig& config, const SampleGroup& group, nn::ImageSize image);

/// Has a box of each image be that of another one. Where mixup is there too, it mixes first, and
/// `with_mixup` says whether both mix the same samples; what an image that both mixed is learnt as
/// is then the mean of all that is in it. Paper: Yun et al., "CutMix: Regularization strategy to
/// train strong classifiers with localizable features", ICCV 2019.
class Cutmix final : public Mixing {
 public:
  explicit Cutmix(const CutmixConfig& config)
      : Mixing({kCutmixOrder, config.interpolate_loss, config.group}), config_(config) {}

  std::string_view name() const override { return "cutmix"; }
  /// Tells mixup how they go together.
  std::string meet(std::span<const std::unique_ptr<train::Algorithm>> all) override;

 private:
  Mixture draw(const SampleGroup& group, const at::Tensor& images) const override;
  at::Tensor mixed(const at::Tensor& images, const MixedBy& by) const override;

  CutmixConfig config_;
};

std::unique_ptr<train::Algorithm> make(const CutmixConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::CutmixConfig> {
  using Config = paceline::algorithms::CutmixConfig;
  static constexpr std::string_view name = "cutmix";
  static constexpr std::string_view summary =
      "Pastes a box of another image of the microbatch into each, and mixes what it is learnt as "
      "by "
      "the box's share.";
  static constexpr std::string_view paper = "Yun et al., 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::alpha, "alpha",
            "The share of an image that stays is of Beta(alpha, alpha), before its box is cut off "
            "at borders; 0 pastes nothing.",
            AtLeast{0}, AtMost{1e6, "every share would be a half"}),
      algorithms::uniform_sampling_field<Config>(),
      algorithms::partner_field<Config>(),
      algorithms::interpolate_loss_field<Config>(),
      field(&Config::with_mixup, "with_mixup",
            "With algorithms.mixup: switch: one of the two, drawn for each microbatch or group (as "
            "timm); sequential: both, mixup first (as Composer); alternate: mixup in even steps, "
            "cutmix in odd ones."),
      algorithms::group_field<Config>()};
  static void validate(const Config& config, Problems& problems) {
    algorithms::check_group(config, problems);
  }
};
