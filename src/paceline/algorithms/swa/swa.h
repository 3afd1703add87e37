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
#include <string_view>
#include <vector>

namespace paceline::algorithms {

/// When running statistics are computed anew for the average.
enum class StatisticsRefresh {
  kAuto,    ///< if less than an epoch is left in which they could follow
  kAlways,  ///< whenever it is loaded
  kNever,
};

struct SwaConfig {
  config::Duration start{0.7, config::TimeUnit::kFraction};
  config::Duration end{0.97, config::TimeUnit::kFraction};
  config::Duration interval{1, config::TimeUnit::kEpoch};
  StatisticsRefresh refresh = StatisticsRefresh::kAuto;
  EvaluatedWeights evaluate = EvaluatedWeights::kBoth;
};

/// Stochastic weight averaging: the plain mean of the trained weights at equal distances, which
/// takes their place towards the end of the run. Training goes on with it, so that running
/// statistics follow; until then evaluations measure it besides the trained weights or in their
/// place.
///
/// The first step (or epoch, if `interval` counts these) that ends at or after `start` gives the
/// first weights, and each `interval` from there on more: average <- average + (weights - average)
/// / (n + 1). The first one that ends at or after `end` loads the average. Floating buffers are
/// those of the last weights taken, and not averaged; optimizer state and schedule stay as they
/// are. Where BatchNorm's statistics have less than an epoch to follow, the trainer is asked for
/// new ones (TrainState::wants_fresh_statistics), as torch.optim.swa_utils.update_bn gives them.
/// The mean is laid out as the strategy holds the weights: shards are averaged as shards. The
/// numbers are Composer's. With `ema` each is evaluated for itself.
/// Paper: Izmailov et al., "Averaging weights leads to wider optima and better generalization",
/// UAI 2018.
class Swa final : public train::Algorithm {
 public:
  /// Throws ConfigError for an interval that is no count of steps or epochs.
  explicit Swa(const SwaConfig& config);

  std::string_view name() const override { return "swa"; }
  train::AlgorithmTraits traits() const override;
  std::string meet(std::span<const std::unique_ptr<train::Algorithm>> all) override;
  /// Throws ConfigError, at kPrepared, for an end that does not come after the start, or not within
  /// the run.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  std::vector<tensor::StateShard> tensors(const train::TrainState& state) const override;
  bool has_weights() const override { return num_averaged_ > 0 && !is_loaded_; }
  void swap_weights(train::TrainState& /*state*/) override { average_->swap(); }
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  /// Steps after which something happens.
  struct Moments {
    std::int64_t first = 0;
    std::int64_t interval = 1;
    std::int64_t load = 0;
  };
  Moments moments(const config::StepLengths& lengths) const;
  /// Whether weights are taken after a step.
  bool is_due(std::int64_t step, const Moments& when) const {
    return !is_loaded_ && step >= when.first && (step - when.first) % when.interval == 0;
  }
  double share() const { return 1.0 / static_cast<double>(num_averaged_ + 1); }
  void move_with_step(train::TrainState& state);
  void check(const train::TrainState& state, const train::RunContext& run) const;
  /// Whether the run ends within an epoch of the step, or may.
  static bool is_late(std::int64_t step, const config::StepLengths& lengths);
  void load(train::TrainState& state, const train::RunContext& run);

  SwaConfig config_;
  bool others_leave_weights_ = false;
  std::int64_t num_averaged_ = 0;
  bool is_loaded_ = false;
  std::optional<parallel::AveragedWeights> average_;  ///< from kPrepared on
};

std::unique_ptr<train::Algorithm> make(const SwaConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::StatisticsRefresh> {
  using Refresh = paceline::algorithms::StatisticsRefresh;
  static constexpr std::array names{EnumName{Refresh::kAuto, "auto"},
                                    EnumName{Refresh::kAlways, "always"},
                                    EnumName{Refresh::kNever, "never"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::SwaConfig> {
  using Config = paceline::algorithms::SwaConfig;
  static constexpr std::string_view name = "swa";
  static constexpr std::string_view summary =
      "Averages weights at equal distances, evaluates the average too, and ends with it.";
  static constexpr std::string_view paper = "Izmailov et al., 2018";
  static constexpr auto fields = std::tuple{
      field(&Config::start, "start", "When averaging begins: 0.7dur, 60ep, 5000ba."),
      field(&Config::end, "end",
            "When the average is loaded into the trained weights, which train on."),
      field(&Config::interval, "interval",
            "From start on weights are taken so often, in ba or ep."),
      field(&Config::refresh, "refresh",
            "BatchNorm's statistics are computed anew for the average, by a pass over the training "
            "data: if less than an epoch is left for them to follow (auto), always or never."),
      field(&Config::evaluate, "evaluate",
            "both: evaluations measure the trained weights (val/...) and the average "
            "(val_swa/...); average: from its first weights until it is loaded, it alone, as "
            "val/..., and eval, predict, export and what starts from a checkpoint take it.",
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    if (value.start.unit == value.end.unit && value.end.value <= value.start.value)
      problems.add("end", "must come after start");
  }
};
