#include "paceline/algorithms/ema/ema.h"

#include "paceline/base/error.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using config::Duration;
using config::TimeUnit;

constexpr Duration kUsualHalfLife{1000, TimeUnit::kBatch};

void require_counted(const std::optional<Duration>& duration, std::string_view key) {
  if (!duration) return;
  const bool is_counted = duration->unit == TimeUnit::kBatch || duration->unit == TimeUnit::kEpoch;
  if (is_counted && duration->value >= 1 && duration->value == std::floor(duration->value)) return;
  throw base::ConfigError(
      fmt::format("algorithms.ema.{} is {}: write a whole number of batches or epochs, as in 100ba",
                  key, duration->to_string()));
}

Duration interval_of(const EmaConfig& config) {
  require_counted(config.half_life, "half_life");
  require_counted(config.update_interval, "update_interval");
  const TimeUnit unit = config.half_life ? config.half_life->unit : TimeUnit::kBatch;
  return config.update_interval.value_or(Duration{1, unit});
}

double smoothing_of(const EmaConfig& config, const Duration& interval) {
  if (config.smoothing) return *config.smoothing;
  const Duration half_life = config.half_life.value_or(kUsualHalfLife);
  if (half_life.unit != interval.unit) {
    throw base::ConfigError(
        fmt::format("algorithms.ema.half_life is {} and update_interval {}: count both in ba, or "
                    "both in ep",
                    half_life.to_string(), interval.to_string()));
  }
  return std::exp2(-interval.value / half_life.value);
}

/// As torchvision's training script adapts its decay.
double rescaled(double smoothing, const Duration& interval, const config::StepLengths& lengths) {
  if (lengths.total_steps == 0) {
    throw base::ConfigError(
        "algorithms.ema.rescale asks how many epochs the run has, which is not known in steps: "
        "give train.duration in ep, ba or sp, or smoothing as it should be");
  }
  const double epochs =
      static_cast<double>(lengths.total_steps) / static_cast<double>(lengths.steps_per_epoch);
  const auto samples = static_cast<double>(to_steps(interval, lengths) * lengths.samples_per_step);
  return 1.0 - std::min(1.0, (1.0 - smoothing) * samples / epochs);
}

}  // namespace

Ema::Ema(const EmaConfig& config)
    : config_(config),
      interval_(interval_of(config)),
      smoothing_(smoothing_of(config, interval_)) {}

train::AlgorithmTraits Ema::traits() const {
  using train::Event;
  train::AlgorithmTraits traits{
      .events = {Event::kPrepared, Event::kBeforeOptimizerStep, Event::kStepEnd},
      .has_weights = true,
      .stands_for_weights = config_.evaluate == EvaluatedWeights::kAverage,
      .leaves_weights = true,
      .may_come_or_go = true};
  if (interval_.unit == TimeUnit::kEpoch) traits.events = {Event::kPrepared, Event::kEpochEnd};
  return traits;
}

std::string Ema::meet(std::span<const std::unique_ptr<train::Algorithm>> all) {
  others_leave_weights_ = train::others_leave_weights(all, *this);
  return {};
}

void Ema::apply(train::Event event, train::TrainState& state, const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) {
    average_.emplace(*state.strategy);
    if (config_.rescale == EmaRescale::kTorchvision)
      smoothing_ = rescaled(*config_.smoothing, interval_, state.clock.lengths);
    return;
  }
  if (event == train::Event::kBeforeOptimizerStep) return move_with_step(state);
  const train::Clock& clock = state.clock;
  const std::int64_t count =
      interval_.unit == TimeUnit::kEpoch ? clock.step / clock.lengths.steps_per_epoch : clock.step;
  if (clock.step < to_steps(config_.start, clock.lengths)) return;
  if (!std::exchange(is_started_, true)) {
    first_count_ = count;
    move(1.0);
  } else if (is_due(count)) {
    move(1.0 - kept_at(count));
  }
}

double Ema::kept_at(std::int64_t count) const {
  if (!config_.warmup_power) return smoothing_;
  const double since = static_cast<double>(count - first_count_) / config_.warmup_gamma;
  return std::min(smoothing_, 1.0 - std::pow(1.0 + since, -*config_.warmup_power));
}

void Ema::move_with_step(train::TrainState& state) {
  const std::int64_t count = state.clock.step + 1;
  if (others_leave_weights_ && is_started_ && is_due(count))
    average_->move_weights_with_step(*state.optimizer, 1.0 - kept_at(count));
}

void Ema::move(double share) {
  average_->move_weights(share);
  average_->move_buffers(share);
}

std::vector<tensor::StateShard> Ema::tensors(const train::TrainState& /*state*/) const {
  return average_->shards(fmt::format("{}{}/", tensor::kAlgorithms, name()));
}

nlohmann::json Ema::state_dict() const {
  return {{"is_started", is_started_}, {"first_count", first_count_}};
}

void Ema::load_state_dict(const nlohmann::json& state) {
  is_started_ = state.at("is_started").get<bool>();
  first_count_ = state.value("first_count", std::int64_t{1});  // of before there was a warm-up
}

std::unique_ptr<train::Algorithm> make(const EmaConfig& config) {
  return std::make_unique<Ema>(config);
}

}  // namespace paceline::algorithms
