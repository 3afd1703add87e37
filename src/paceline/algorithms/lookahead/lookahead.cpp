#include "paceline/algorithms/lookahead/lookahead.h"

#include "paceline/base/error.h"
#include "paceline/train/train_state.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

/// After a step before those that take its weights.
constexpr int kBeforeAverages = 1;

}  // namespace

train::AlgorithmTraits Lookahead::traits() const {
  return {.events = {train::Event::kPrepared, train::Event::kFitStart, train::Event::kStepEnd},
          .order = kBeforeAverages,
          .may_come_or_go = true};
}

void Lookahead::apply(train::Event event, train::TrainState& state,
                      const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) {
    check(state.clock.lengths);
    slow_.emplace(*state.strategy);
    return;
  }
  if (event == train::Event::kFitStart) {
    if (is_started_) return;
    is_started_ = true;  // with the first weights, or those of the run that it came into
    slow_->move_weights(1.0);
    slow_->move_buffers(1.0);
    return;
  }
  const train::Clock& clock = state.clock;
  const bool is_due = clock.step % static_cast<std::int64_t>(config_.interval.value) == 0;
  if (is_due) {
    const double share = 1.0 - decay_at(clock);
    slow_->move_weights(share);
    slow_->move_buffers(share);
  }
  if (is_due || clock.step == clock.lengths.total_steps) slow_->load();
}

void Lookahead::check(const config::StepLengths& lengths) const {
  const auto& [value, unit] = config_.interval;
  if (unit != config::TimeUnit::kBatch || value < 1 || value != std::floor(value)) {
    throw base::ConfigError(fmt::format(
        "algorithms.lookahead.interval is {}: write a whole number of batches, as in 5ba",
        config_.interval.to_string()));
  }
  // Memory is estimated without a run, in which an epoch has no steps.
  if (config_.decay_power > 0 && lengths.total_steps == 0 && lengths.steps_per_epoch > 0) {
    throw base::ConfigError(
        "algorithms.lookahead.decay_power asks how long the run is, which is not known in steps: "
        "give train.duration in ep, ba or sp, or leave it 0");
  }
}

double Lookahead::decay_at(const train::Clock& clock) const {
  if (config_.decay_power == 0) return config_.decay;
  const double share =
      static_cast<double>(clock.step) / static_cast<double>(clock.lengths.total_steps);
  return config_.decay * std::pow(share, config_.decay_power);
}

std::vector<tensor::StateShard> Lookahead::tensors(const train::TrainState& /*state*/) const {
  return slow_->shards(fmt::format("{}{}/", tensor::kAlgorithms, name()));
}

nlohmann::json Lookahead::state_dict() const { return {{"is_started", is_started_}}; }

void Lookahead::load_state_dict(const nlohmann::json& state) {
  state.at("is_started").get_to(is_started_);
}

std::unique_ptr<train::Algorithm> make(const LookaheadConfig& config) {
  return std::make_unique<Lookahead>(config);
}

}  // namespace paceline::algorithms
