#pragma once

#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/optim/schedule.h"

#include <memory>
#include <tuple>
#include <vector>

namespace paceline::optim {

// Every warm-up is a linear rise over the first W = to_steps(warmup) optimizer steps: the factor of
// step s < W is f + (1 - f) * s / W, f = warmup_start_factor, as in torch's LinearLR(f,
// total_iters=W). Paper: Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2.

/// After the warm-up 1.
struct ConstantConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
};

/// After the warm-up of W of T steps half a cosine from 1 down to final_lr_ratio at step T:
/// r + (1 - r) * (1 + cos(pi * (s - W) / (T - W))) / 2, as in torch's
/// SequentialLR([LinearLR, CosineAnnealingLR(T_max=T - W, eta_min=r * lr)], [W]); from T on r.
/// Paper: Loshchilov and Hutter, "SGDR", ICLR 2017.
struct CosineConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  double final_lr_ratio = 0.0;
};

/// gamma^(s / P rounded down), P = to_steps(every), counted from the start of training and
/// multiplied by the warm-up, as in torch's ChainedScheduler([LinearLR, StepLR(P, gamma)]).
struct StepConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  config::Duration every{30, config::TimeUnit::kEpoch};
  double gamma = 0.1;
};

/// gamma^(number of milestones at or before s), counted from the start of training and multiplied
/// by the warm-up, as in torch's ChainedScheduler([LinearLR, MultiStepLR(milestones, gamma)]).
struct MultiStepConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  std::vector<config::Duration> milestones{{30, config::TimeUnit::kEpoch},
                                           {60, config::TimeUnit::kEpoch},
                                           {80, config::TimeUnit::kEpoch}};
  double gamma = 0.1;
};

/// A half cosine from 1 / div_factor up to 1 at step W - 1, W = to_steps(warmup), then one down to
/// 1 / (div_factor * final_div_factor) at the last step T - 1, as in torch's OneCycleLR(max_lr=lr,
/// total_steps=T, pct_start=W / T, cycle_momentum=False).
/// Paper: Smith and Topin, "Super-convergence", 2018.
struct OneCycleConfig {
  config::Duration warmup{0.3, config::TimeUnit::kFraction};
  double div_factor = 25.0;
  double final_div_factor = 1e4;
};

/// The schedule for a run of this length. Throws ConfigError when a duration is longer than the
/// run, is measured in wall-clock time, or needs a total length that is unknown.
std::unique_ptr<Schedule> make(const ConstantConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const CosineConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const StepConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const MultiStepConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const OneCycleConfig& config, const RunLength& length);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::ConstantConfig> {
  using Config = paceline::optim::ConstantConfig;
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view summary = "The base learning rate after a warm-up.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&Config::warmup, "warmup", "Length of the linear warm-up.", AtLeast{0.0}),
                 field(&Config::warmup_start_factor, "warmup_start_factor",
                       "Factor of the first warm-up step.", InRange{0.0, 1.0})};
};

template <>
struct paceline::config::Schema<paceline::optim::CosineConfig> {
  using Config = paceline::optim::CosineConfig;
  static constexpr std::string_view name = "cosine";
  static constexpr std::string_view summary = "Half a cosine from the base learning rate down.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2017";
  static constexpr auto fields =
      std::tuple{field(&Config::warmup, "warmup", "Length of the linear warm-up.", AtLeast{0.0}),
                 field(&Config::warmup_start_factor, "warmup_start_factor",
                       "Factor of the first warm-up step.", InRange{0.0, 1.0}),
                 field(&Config::final_lr_ratio, "final_lr_ratio",
                       "Final learning rate over the base learning rate.", InRange{0.0, 1.0})};
};

template <>
struct paceline::config::Schema<paceline::optim::StepConfig> {
  using Config = paceline::optim::StepConfig;
  static constexpr std::string_view name = "step";
  static constexpr std::string_view summary = "A drop by a factor at equal distances.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&Config::warmup, "warmup", "Length of the linear warm-up.", AtLeast{0.0}),
                 field(&Config::warmup_start_factor, "warmup_start_factor",
                       "Factor of the first warm-up step.", InRange{0.0, 1.0}),
                 field(&Config::every, "every", "Distance of the drops.", MoreThan{0.0}),
                 field(&Config::gamma, "gamma", "Factor of each drop.", MoreThan{0.0},
                       AtMost{1000, "no weights survive a step"})};
};

template <>
struct paceline::config::Schema<paceline::optim::MultiStepConfig> {
  using Config = paceline::optim::MultiStepConfig;
  static constexpr std::string_view name = "multistep";
  static constexpr std::string_view summary = "A drop by a factor at each milestone.";
  static constexpr std::string_view paper = "He et al., CVPR 2016";
  static constexpr auto fields =
      std::tuple{field(&Config::warmup, "warmup", "Length of the linear warm-up.", AtLeast{0.0}),
                 field(&Config::warmup_start_factor, "warmup_start_factor",
                       "Factor of the first warm-up step.", InRange{0.0, 1.0}),
                 field(&Config::milestones, "milestones",
                       "When the learning rate drops, from the start of training.", NotEmpty{}),
                 field(&Config::gamma, "gamma", "Factor of each drop.", MoreThan{0.0},
                       AtMost{1000, "no weights survive a step"})};
};

template <>
struct paceline::config::Schema<paceline::optim::OneCycleConfig> {
  using Config = paceline::optim::OneCycleConfig;
  static constexpr std::string_view name = "one_cycle";
  static constexpr std::string_view summary =
      "One cosine up to the base learning rate and one down.";
  static constexpr std::string_view paper = "Smith and Topin, 2018";
  static constexpr auto fields = std::tuple{
      field(&Config::warmup, "warmup", "Length of the rise.", MoreThan{0.0}),
      field(&Config::div_factor, "div_factor", "Base over first learning rate.", AtLeast{1.0},
            AtMost{1e12, "no learning rate is left"}),
      field(&Config::final_div_factor, "final_div_factor", "First over last learning rate.",
            AtLeast{1.0}, AtMost{1e12, "no learning rate is left"})};
};
