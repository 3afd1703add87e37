#include "paceline/algorithms/ema/ema.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/train_state.h"

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

}  // namespace

Ema::Ema(const EmaConfig& config)
    : config_(config),
      interval_(interval_of(config)),
      smoothing_(smoothing_of(config, interval_)) {}

train::AlgorithmTraits Ema::traits() const {
  const auto update =
      interval_.unit == TimeUnit::kEpoch ? train::Event::kEpochEnd : train::Event::kStepEnd;
  return {.events = {train::Event::kPrepared, update}, .has_weights = true, .may_come_or_go = true};
}

void Ema::apply(train::Event event, train::TrainState& state, const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) return prepare(state);
  const train::Clock& clock = state.clock;
  const std::int64_t count =
      interval_.unit == TimeUnit::kEpoch ? clock.step / clock.lengths.steps_per_epoch : clock.step;
  if (clock.step < to_steps(config_.start, clock.lengths)) return;
  if (!std::exchange(is_started_, true)) {
    copy_weights();
  } else if (count % static_cast<std::int64_t>(interval_.value) == 0) {
    update();
  }
}

void Ema::prepare(train::TrainState& state) {
  for (const optim::ParamGroup& group : state.strategy->param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) {
      weights_.push_back(slot.param.detach());
      averages_.push_back(weights_.back().clone());
    }
  }
  for (tensor::StateShard& shard : state.strategy->model_state()) {
    if (!shard.is_buffer || !shard.data.is_floating_point()) continue;
    const at::Tensor average = shard.data.clone();
    buffers_.push_back({std::move(shard), average});
  }
}

std::vector<Ema::Pair> Ema::pairs() const {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < weights_.size(); ++i) pairs.push_back({weights_[i], averages_[i]});
  for (const Buffer& buffer : buffers_) pairs.push_back({buffer.shard.data, buffer.average});
  return pairs;
}

void Ema::copy_weights() {
  const at::NoGradGuard no_grad;
  for (const auto& [value, average] : pairs()) average.copy_(value);
}

void Ema::update() {
  const at::NoGradGuard no_grad;
  for (const auto& [value, average] : pairs()) average.lerp_(value, 1.0 - smoothing_);
}

void Ema::swap_weights(train::TrainState& state) {
  const at::NoGradGuard no_grad;
  for (const auto& [value, average] : pairs()) {
    const at::Tensor kept = value.clone();
    value.copy_(average);
    average.copy_(kept);
  }
  state.strategy->state_was_loaded();
}

std::vector<tensor::StateShard> Ema::tensors(const train::TrainState& state) const {
  const std::string prefix = fmt::format("{}{}/", tensor::kAlgorithms, name());
  auto shards = state.strategy->cut_by_parameter(prefix, averages_);
  for (const Buffer& buffer : buffers_) {
    tensor::StateShard shard = buffer.shard;
    shard.name = prefix + shard.name;
    shard.data = buffer.average;
    shard.is_replicated = false;  // between evaluations running statistics are a rank's own
    shards.push_back(std::move(shard));
  }
  return shards;
}

nlohmann::json Ema::state_dict() const { return {{"is_started", is_started_}}; }

void Ema::load_state_dict(const nlohmann::json& state) {
  is_started_ = state.at("is_started").get<bool>();
}

std::unique_ptr<train::Algorithm> make(const EmaConfig& config) {
  return std::make_unique<Ema>(config);
}

}  // namespace paceline::algorithms
