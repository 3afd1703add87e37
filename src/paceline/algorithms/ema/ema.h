#pragma once

#include "paceline/algorithms/evaluated_weights.h"
#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/parallel/averaged_weights.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::algorithms {

/// What is done to a smoothing that is given.
enum class EmaRescale {
  kNone,
  kTorchvision,  ///< 1 - (1 - s) * samples of an interval / epochs of the run, at least 0
};

struct EmaConfig {
  std::optional<config::Duration> half_life = {};
  std::optional<double> smoothing = {};
  EmaRescale rescale = EmaRescale::kNone;
  std::optional<double> warmup_power = {};
  double warmup_gamma = 1.0;
  std::optional<config::Duration> update_interval = {};
  config::Duration start{0, config::TimeUnit::kFraction};
  EvaluatedWeights evaluate = EvaluatedWeights::kBoth;
};

/// An exponential moving average of the trained weights and of floating buffers (running
/// statistics), laid out as the strategy holds them: shards are averaged as shards. Evaluations
/// measure it besides the trained weights or in their place; training goes on with these.
///
/// After every `update_interval`, counted from the start of the run: average <- s * average + (1 -
/// s) * weights, with s given, or 2 to the power of -update_interval / half_life. The first step
/// (or epoch, if these are counted) from `start` on copies the weights. With `warmup_power`, n
/// steps (or epochs) after that s is at most 1 - (1 + n / warmup_gamma)^-warmup_power. A step that
/// fp16 skipped counts. The numbers are Composer's, the warm-up timm's.
/// Paper: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
class Ema final : public train::Algorithm {
 public:
  /// Throws ConfigError for lengths that do not fit each other, and at kPrepared for a run of
  /// unknown length whose epochs are asked for.
  explicit Ema(const EmaConfig& config);

  std::string_view name() const override { return "ema"; }
  train::AlgorithmTraits traits() const override;
  std::string meet(std::span<const std::unique_ptr<train::Algorithm>> all) override;
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  std::vector<tensor::StateShard> tensors(const train::TrainState& state) const override;
  bool has_weights() const override { return is_started_; }
  void swap_weights(train::TrainState& /*state*/) override { average_->swap(); }
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  /// Whether the average moves at the update with that count, once it has begun.
  bool is_due(std::int64_t count) const {
    return count % static_cast<std::int64_t>(interval_.value) == 0;
  }
  void move_with_step(train::TrainState& state);
  void move(double share);
  /// What the average keeps of itself at the update with that count.
  double kept_at(std::int64_t count) const;

  EmaConfig config_;
  config::Duration interval_;
  double smoothing_;
  bool others_leave_weights_ = false;
  bool is_started_ = false;
  std::int64_t first_count_ = 0;                      ///< of the copy, in the interval's unit
  std::optional<parallel::AveragedWeights> average_;  ///< from kPrepared on
};

std::unique_ptr<train::Algorithm> make(const EmaConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::EmaRescale> {
  using Rescale = paceline::algorithms::EmaRescale;
  static constexpr std::array names{EnumName{Rescale::kNone, "none"},
                                    EnumName{Rescale::kTorchvision, "torchvision"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::EmaConfig> {
  using Config = paceline::algorithms::EmaConfig;
  static constexpr std::string_view name = "ema";
  static constexpr std::string_view summary =
      "Averages weights over time, and evaluates the average too.";
  static constexpr auto fields = std::tuple{
      field(&Config::half_life, "half_life",
            "After how long a weight counts half, in ba or ep; 1000ba if smoothing is not given."),
      field(&Config::smoothing, "smoothing",
            "What the average keeps of itself at each update, instead of half_life.",
            InRange{0, 1}),
      field(&Config::rescale, "rescale",
            "torchvision: smoothing is adapted to the samples of an interval and the epochs of the "
            "run, as its --model-ema-decay."),
      field(&Config::warmup_power, "warmup_power",
            "The average keeps less of itself at first, the longer the lower this is; timm's "
            "use_warmup has 0.6667.",
            MoreThan{0}, AtMost{100, "there is no warm-up left"}),
      field(&Config::warmup_gamma, "warmup_gamma", "The warm-up is so many times as long.",
            MoreThan{0}, AtMost{1e9, "no run is as long"}),
      field(&Config::update_interval, "update_interval",
            "How often it is updated, in ba or ep; 1 of half_life's unit if left out."),
      field(&Config::start, "start", "When averaging begins: 0.2dur, 5ep, 1000ba."),
      field(&Config::evaluate, "evaluate",
            "both: evaluations measure the trained weights (val/...) and the average "
            "(val_ema/...); average: once it exists, it alone, as val/..., and eval, predict, "
            "export and what starts from a checkpoint take it.",
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    if (value.half_life && value.smoothing)
      problems.add("smoothing", "and half_life say the same thing; leave one of them out");
    if (value.rescale != algorithms::EmaRescale::kNone && !value.smoothing)
      problems.add("rescale", "adapts smoothing, which is not given");
  }
};
