#pragma once

#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/parallel/averaged_weights.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::algorithms {

struct LookaheadConfig {
  config::Duration interval{5, config::TimeUnit::kBatch};
  double decay = 0.5;
  double decay_power = 0.0;
};

/// Two sets of weights: the optimizer moves the fast ones, and every `interval` the slow ones,
/// which start where the fast ones do, take part of the way to them, from where the fast ones go
/// on: slow <- d * slow + (1 - d) * fast; fast <- slow, with d = decay * (step / steps of the
/// run)^decay_power. Running statistics likewise. The last step of a run, if that is known
/// beforehand, ends with the slow ones. The optimizer's state stays as it is. Laid out as the
/// strategy holds the weights; no rank asks another. ema and swa take the weights that it leaves.
/// Paper: Zhang et al., "Lookahead optimizer: k steps forward, 1 step back", NeurIPS 2019, whose
/// alpha is 1 - decay and whose k is the interval. The power, and that statistics follow, are of
/// Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024.
class Lookahead final : public train::Algorithm {
 public:
  explicit Lookahead(const LookaheadConfig& config) : config_(config) {}

  std::string_view name() const override { return "lookahead"; }
  train::AlgorithmTraits traits() const override;
  /// Throws ConfigError, at kPrepared, for an interval that is no count of steps, and a decay_power
  /// in a run of unknown length.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  std::vector<tensor::StateShard> tensors(const train::TrainState& state) const override;
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  void check(const config::StepLengths& lengths) const;
  double decay_at(const train::Clock& clock) const;

  LookaheadConfig config_;
  bool is_started_ = false;
  std::optional<parallel::AveragedWeights> slow_;  ///< from kPrepared on
};

std::unique_ptr<train::Algorithm> make(const LookaheadConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::LookaheadConfig> {
  using Config = paceline::algorithms::LookaheadConfig;
  static constexpr std::string_view name = "lookahead";
  static constexpr std::string_view summary =
      "Every few steps goes back part of the way to slow weights, which follow.";
  static constexpr std::string_view paper = "Zhang et al., 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::interval, "interval", "Steps between two of these, in ba.", MoreThan{0}),
      field(&Config::decay, "decay",
            "How much of the slow weights stays each time; 1 - alpha of the paper.", InRange{0, 1}),
      field(
          &Config::decay_power, "decay_power",
          "Multiply decay by this power of the share of the run that is over; 0: always the same.",
          AtLeast{0}, AtMost{1000, "nothing would stay but at the very end"})};
};
