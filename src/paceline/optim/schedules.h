#pragma once

#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/optim/schedule.h"

#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace paceline::optim {

/// How the first W = to_steps(warmup) optimizer steps rise from f = warmup_start_factor to 1; s is
/// the step. Paper: Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2.
enum class WarmupShape {
  kLinear,       ///< f + (1 - f) * s / W, as torch's LinearLR(f, total_iters=W)
  kExponential,  ///< f^(1 - s / W)
  kConstant      ///< f, as torch's ConstantLR(f, total_iters=W)
};

/// When the learning rate moves.
enum class RateMoves {
  kStep,  ///< with each optimizer step
  kEpoch  ///< at the first step of an epoch, and stays, as in torchvision's and timm's trainers
};

/// After the warm-up 1.
struct ConstantConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
};

/// After the warm-up of W of T steps half a cosine from 1 down to final_lr_ratio at step T:
/// r + (1 - r) * (1 + cos(pi * (s - W) / (T - W))) / 2, as in torch's
/// SequentialLR([LinearLR, CosineAnnealingLR(T_max=T - W, eta_min=r * lr)], [W]); from T on r.
///
/// With `cycle` it starts again each time that many steps are over, each time cycle_mul times as
/// long and from cycle_decay times the height, as timm's CosineLRScheduler and torch's
/// CosineAnnealingWarmRestarts. The share of a cycle is taken to the power k_decay. With
/// `from_start` the cosine is counted from step 0, s / T, also while the warm-up hides it, as
/// timm has it without --warmup-prefix.
/// Papers: Loshchilov and Hutter, "SGDR", ICLR 2017; Zhang and Li, "k-decay", 2020.
struct CosineConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  double final_lr_ratio = 0.0;
  std::optional<config::Duration> cycle = std::nullopt;
  double cycle_mul = 1.0;
  double cycle_decay = 1.0;
  double k_decay = 1.0;
  bool from_start = false;
};

/// r + (1 - r) * (1 - (s - W) / (T - W))^power, as torch's PolynomialLR behind a warm-up.
struct PolynomialConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  double final_lr_ratio = 0.0;
  double power = 1.0;
};

/// The same with power 1.
struct LinearConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  double final_lr_ratio = 0.0;
};

/// gamma^(s / P), P = to_steps(every), counted from the start of training and multiplied by the
/// warm-up; with P = 1 torch's ExponentialLR(gamma).
struct ExponentialConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  config::Duration every{1, config::TimeUnit::kEpoch};
  double gamma = 0.95;
};

/// After the warm-up sqrt(c / (s - W + c)), c = to_steps(timescale), which is, unless it is given,
/// the warm-up's length, or 10,000 steps where there is none, as Hugging Face's
/// get_inverse_sqrt_schedule.
/// Paper: Zhai et al., "Scaling vision transformers", CVPR 2022, section 3.5.
struct InverseSqrtConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  std::optional<config::Duration> timescale = std::nullopt;
};

/// gamma^(s / P rounded down), P = to_steps(every), counted from the start of training and
/// multiplied by the warm-up, as in torch's ChainedScheduler([LinearLR, StepLR(P, gamma)]).
struct StepConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  config::Duration every{30, config::TimeUnit::kEpoch};
  double gamma = 0.1;
};

/// gamma^(number of milestones at or before s), counted from the start of training and multiplied
/// by the warm-up, as in torch's ChainedScheduler([LinearLR, MultiStepLR(milestones, gamma)]).
struct MultiStepConfig {
  config::Duration warmup{0, config::TimeUnit::kBatch};
  double warmup_start_factor = 0.01;
  WarmupShape warmup_shape = WarmupShape::kLinear;
  RateMoves moves = RateMoves::kStep;
  std::vector<config::Duration> milestones{{30, config::TimeUnit::kEpoch},
                                           {60, config::TimeUnit::kEpoch},
                                           {80, config::TimeUnit::kEpoch}};
  double gamma = 0.1;
};

/// A half cosine from 1 / div_factor up to 1 at step W - 1, W = to_steps(warmup), then one down to
/// 1 / (div_factor * final_div_factor) at the last step T - 1, as in torch's OneCycleLR(max_lr=lr,
/// total_steps=T, pct_start=W / T). With `max_momentum` the optimizer's momentum goes the other
/// way, from it down to base_momentum at step W - 1 and up again; without, cycle_momentum=False.
/// Paper: Smith and Topin, "Super-convergence", 2018.
struct OneCycleConfig {
  config::Duration warmup{0.3, config::TimeUnit::kFraction};
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  std::optional<double> max_momentum = std::nullopt;
  double base_momentum = 0.85;
};

/// The schedule for a run of this length. Throws ConfigError when a duration is longer than the
/// run, is measured in wall-clock time, or needs a total length that is unknown.
std::unique_ptr<Schedule> make(const ConstantConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const CosineConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const PolynomialConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const LinearConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const ExponentialConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const InverseSqrtConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const StepConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const MultiStepConfig& config, const RunLength& length);
std::unique_ptr<Schedule> make(const OneCycleConfig& config, const RunLength& length);

/// The fields of every Config with a warm-up.
template <class Config>
constexpr auto warmup_fields() {
  using namespace config;
  return std::tuple{field(&Config::warmup, "warmup", "Length of the warm-up.", AtLeast{0.0}),
                    field(&Config::warmup_start_factor, "warmup_start_factor",
                          "Factor of the first warm-up step.", InRange{0.0, 1.0}),
                    field(&Config::warmup_shape, "warmup_shape", "How the warm-up rises."),
                    field(&Config::moves, "moves",
                          "Whether the rate moves with each step, or once an epoch and stays in "
                          "between, as in torchvision's and timm's trainers.")};
}

template <class Config>
constexpr auto final_lr_field() {
  using namespace config;
  return field(&Config::final_lr_ratio, "final_lr_ratio",
               "Final learning rate over the base learning rate.", InRange{0.0, 1.0});
}

}  // namespace paceline::optim

template <>
struct paceline::config::EnumNames<paceline::optim::WarmupShape> {
  using Shape = paceline::optim::WarmupShape;
  static constexpr std::array names{EnumName{Shape::kLinear, "linear"},
                                    EnumName{Shape::kExponential, "exponential"},
                                    EnumName{Shape::kConstant, "constant"}};
};

template <>
struct paceline::config::EnumNames<paceline::optim::RateMoves> {
  using Moves = paceline::optim::RateMoves;
  static constexpr std::array names{EnumName{Moves::kStep, "step"},
                                    EnumName{Moves::kEpoch, "epoch"}};
};

template <>
struct paceline::config::Schema<paceline::optim::ConstantConfig> {
  using Config = paceline::optim::ConstantConfig;
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view summary = "The base learning rate after a warm-up.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = optim::warmup_fields<Config>();
};

template <>
struct paceline::config::Schema<paceline::optim::CosineConfig> {
  using Config = paceline::optim::CosineConfig;
  static constexpr std::string_view name = "cosine";
  static constexpr std::string_view summary =
      "Half a cosine from the base learning rate down, once or again and again.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2017";
  static constexpr auto fields = std::tuple_cat(
      optim::warmup_fields<Config>(),
      std::tuple{
          optim::final_lr_field<Config>(),
          field(&Config::cycle, "cycle",
                "Length of the first cycle, after which it starts again; null: the whole run.",
                MoreThan{0.0}),
          field(&Config::cycle_mul, "cycle_mul", "Length of a cycle over that of the one before.",
                AtLeast{1.0}, AtMost{1000}),
          field(&Config::cycle_decay, "cycle_decay",
                "Height of a cycle over that of the one before.", MoreThan{0.0}, AtMost{1}),
          field(&Config::k_decay, "k_decay",
                "Power of the share of a cycle: above 1 the rate stays high for longer.",
                MoreThan{0.0}, AtMost{100}),
          field(&Config::from_start, "from_start",
                "Count the cosine from the start of the run instead of from the end of the "
                "warm-up, as timm does.")});
};

template <>
struct paceline::config::Schema<paceline::optim::PolynomialConfig> {
  using Config = paceline::optim::PolynomialConfig;
  static constexpr std::string_view name = "polynomial";
  static constexpr std::string_view summary = "A power of the share of the run that is left.";
  static constexpr std::string_view paper = "Liu et al., ParseNet, 2015";
  static constexpr auto fields =
      std::tuple_cat(optim::warmup_fields<Config>(),
                     std::tuple{optim::final_lr_field<Config>(),
                                field(&Config::power, "power", "The power; 1 is a straight line.",
                                      MoreThan{0.0}, AtMost{100})});
};

template <>
struct paceline::config::Schema<paceline::optim::LinearConfig> {
  using Config = paceline::optim::LinearConfig;
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view summary = "A straight line from the base learning rate down.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple_cat(optim::warmup_fields<Config>(), std::tuple{optim::final_lr_field<Config>()});
};

template <>
struct paceline::config::Schema<paceline::optim::ExponentialConfig> {
  using Config = paceline::optim::ExponentialConfig;
  static constexpr std::string_view name = "exponential";
  static constexpr std::string_view summary = "A power of the steps so far.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple_cat(
      optim::warmup_fields<Config>(),
      std::tuple{field(&Config::every, "every",
                       "The steps after which the factor has been applied once.", MoreThan{0.0}),
                 field(&Config::gamma, "gamma", "The factor.", MoreThan{0.0},
                       AtMost{1000, "no weights survive a step"})});
};

template <>
struct paceline::config::Schema<paceline::optim::InverseSqrtConfig> {
  using Config = paceline::optim::InverseSqrtConfig;
  static constexpr std::string_view name = "inverse_sqrt";
  static constexpr std::string_view summary = "The inverse root of the steps so far.";
  static constexpr std::string_view paper = "Zhai et al., CVPR 2022";
  static constexpr auto fields =
      std::tuple_cat(optim::warmup_fields<Config>(),
                     std::tuple{field(&Config::timescale, "timescale",
                                      "After how many steps more the square is half; null: the "
                                      "length of the warm-up, or 10000ba without one.",
                                      MoreThan{0.0})});
};

template <>
struct paceline::config::Schema<paceline::optim::StepConfig> {
  using Config = paceline::optim::StepConfig;
  static constexpr std::string_view name = "step";
  static constexpr std::string_view summary = "A drop by a factor at equal distances.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple_cat(
      optim::warmup_fields<Config>(),
      std::tuple{field(&Config::every, "every", "Distance of the drops.", MoreThan{0.0}),
                 field(&Config::gamma, "gamma", "Factor of each drop.", MoreThan{0.0},
                       AtMost{1000, "no weights survive a step"})});
};

template <>
struct paceline::config::Schema<paceline::optim::MultiStepConfig> {
  using Config = paceline::optim::MultiStepConfig;
  static constexpr std::string_view name = "multistep";
  static constexpr std::string_view summary = "A drop by a factor at each milestone.";
  static constexpr std::string_view paper = "He et al., CVPR 2016";
  static constexpr auto fields = std::tuple_cat(
      optim::warmup_fields<Config>(),
      std::tuple{field(&Config::milestones, "milestones",
                       "When the learning rate drops, from the start of training.", NotEmpty{}),
                 field(&Config::gamma, "gamma", "Factor of each drop.", MoreThan{0.0},
                       AtMost{1000, "no weights survive a step"})});
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
            AtLeast{1.0}, AtMost{1e12, "no learning rate is left"}),
      field(&Config::max_momentum, "max_momentum",
            "Momentum (beta1 of Adam and its kin) at the first and the last step, such as 0.95; "
            "null: the optimizer's own in all steps.",
            MoreThan{0.0}, LessThan{1.0}),
      field(&Config::base_momentum, "base_momentum", "Momentum at the peak, with max_momentum.",
            MoreThan{0.0}, LessThan{1.0})};
};
