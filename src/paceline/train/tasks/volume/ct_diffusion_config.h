#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/diffusion/ddim.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace paceline::train {

struct CtDiffusionConfig {
  std::int64_t num_timesteps = 1000;
  std::optional<double> min_snr_gamma = 5;
  double physics_weight = 0.3;
  double condition_noise = 0.1;
  std::int64_t sampling_steps = 50;
  nn::StepSpacing spacing = nn::StepSpacing::kTrailing;
  double sampling_noise = 0.0;
  std::int64_t samples = 1;
};

}  // namespace paceline::train

template <>
struct paceline::config::EnumNames<paceline::nn::StepSpacing> {
  static constexpr std::array names{EnumName{paceline::nn::StepSpacing::kTrailing, "trailing"},
                                    EnumName{paceline::nn::StepSpacing::kLinspace, "linspace"}};
};

template <>
struct paceline::config::Schema<paceline::train::CtDiffusionConfig> {
  using Config = paceline::train::CtDiffusionConfig;
  static constexpr std::string_view name = "ct_diffusion";
  static constexpr std::string_view summary =
      "Makes CT volumes of X-rays by diffusion: `model` is a cascade of stages (ct_cascade), of "
      "which the last learns to take noise off volumes; evaluations draw volumes through all of "
      "them.";
  static constexpr std::string_view paper =
      "Ho et al., Cascaded diffusion models for high fidelity image generation, 2022";
  static constexpr auto fields = std::tuple{
      field(&Config::num_timesteps, "num_timesteps",
            "Steps of the diffusion, whose noise follows the cosine schedule.",
            InRange{2, 1'000'000}),
      field(&Config::min_snr_gamma, "min_snr_gamma",
            "A step's squared error of v counts min(SNR, this) / (SNR + 1); null: 1.", MoreThan{0},
            AtMost{1e9, "it bounds no step"}, MayChangeOnResume{}),
      field(&Config::physics_weight, "physics_weight",
            "What the squared difference counts of line integrals of the volume at hand and those "
            "that the X-rays tell, times the share of the volume that noise has left; 0: nothing, "
            "and it is only measured.",
            InRange{0, 1e6}, MayChangeOnResume{}),
      field(&Config::condition_noise, "condition_noise",
            "Most noise (standard deviation, where the HU window is -1 to 1) that a stage sees on "
            "the volume of the one before while it learns.",
            InRange{0, 10}, MayChangeOnResume{}),
      field(&Config::sampling_steps, "sampling_steps",
            "Steps of DDIM that a stage takes when volumes are drawn.", AtLeast{1},
            AtMost{1'000'000, "no diffusion has more"}, MayChangeOnResume{}),
      field(&Config::spacing, "spacing",
            "Which steps of the diffusion these are: trailing, from the last one down at equal "
            "distances, or linspace, to the first one too.",
            MayChangeOnResume{}),
      field(&Config::sampling_noise, "sampling_noise",
            "Noise that a stage sees on the volume of the one before when volumes are drawn; at "
            "most condition_noise.",
            InRange{0, 10}, MayChangeOnResume{}),
      field(&Config::samples, "samples",
            "Volumes that evaluations and predictions draw of each patient.", AtLeast{1},
            AtMost{1024, "their mean tells no more"}, MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems);
};
