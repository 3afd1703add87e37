#include "paceline/algorithms/swa/swa.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using config::TimeUnit;

/// The first multiple of `unit`, 0 left out, that is no less.
std::int64_t round_up(std::int64_t steps, std::int64_t unit) {
  return std::max<std::int64_t>(1, (steps + unit - 1) / unit) * unit;
}

/// Whether the network has running statistics that move in training.
bool has_moving_statistics(const torch::nn::Module& network) {
  return std::ranges::any_of(network.modules(/*include_self=*/false), [](const auto& module) {
    const auto* const norm = dynamic_cast<const nn::BatchNorm2d*>(module.get());
    return norm != nullptr && !norm->is_frozen();
  });
}

}  // namespace

Swa::Swa(const SwaConfig& config) : config_(config) {
  const auto& [value, unit] = config.interval;
  const bool is_counted = unit == TimeUnit::kBatch || unit == TimeUnit::kEpoch;
  if (is_counted && value >= 1 && value == std::floor(value)) return;
  throw base::ConfigError(
      fmt::format("algorithms.swa.interval is {}: write a whole number of batches or epochs, as in "
                  "100ba",
                  config.interval.to_string()));
}

train::AlgorithmTraits Swa::traits() const {
  using train::Event;
  train::AlgorithmTraits traits{
      .events = {Event::kPrepared, Event::kBeforeOptimizerStep, Event::kStepEnd},
      .has_weights = true,
      .stands_for_weights = config_.evaluate == EvaluatedWeights::kAverage,
      .may_come_or_go = true};
  if (config_.interval.unit == TimeUnit::kEpoch)
    traits.events = {Event::kPrepared, Event::kEpochEnd};
  return traits;
}

std::string Swa::meet(std::span<const std::unique_ptr<train::Algorithm>> all) {
  others_leave_weights_ = train::others_leave_weights(all, *this);
  return {};
}

Swa::Moments Swa::moments(const config::StepLengths& lengths) const {
  const std::int64_t unit = config_.interval.unit == TimeUnit::kEpoch ? lengths.steps_per_epoch : 1;
  return {.first = round_up(to_steps(config_.start, lengths), unit),
          .interval = static_cast<std::int64_t>(config_.interval.value) * unit,
          .load = round_up(to_steps(config_.end, lengths), unit)};
}

void Swa::apply(train::Event event, train::TrainState& state, const train::RunContext& run) {
  if (event == train::Event::kPrepared) {
    check(state, run);
    average_.emplace(*state.strategy);
    return;
  }
  if (event == train::Event::kBeforeOptimizerStep) return move_with_step(state);
  const Moments when = moments(state.clock.lengths);
  const std::int64_t step = state.clock.step;
  if (is_due(step, when)) {
    average_->move_weights(share());
    average_->move_buffers(1.0);
    ++num_averaged_;
  }
  if (!is_loaded_ && step >= when.load) load(state, run);
}

void Swa::move_with_step(train::TrainState& state) {
  if (others_leave_weights_ && is_due(state.clock.step + 1, moments(state.clock.lengths)))
    average_->move_weights_with_step(*state.optimizer, share());
}

void Swa::check(const train::TrainState& state, const train::RunContext& run) const {
  const config::StepLengths& lengths = state.clock.lengths;
  if (lengths.steps_per_epoch == 0) return;  // memory is estimated without a run
  const auto& [start, end, interval, refresh, evaluate] = config_;
  if (to_steps(end, lengths) <= to_steps(start, lengths)) {
    throw base::ConfigError(fmt::format(
        "algorithms.swa: end ({}) must come after start ({}), which are steps {} and "
        "{} of this run",
        end.to_string(), start.to_string(), to_steps(end, lengths), to_steps(start, lengths)));
  }
  const std::int64_t loaded_after = moments(lengths).load;
  if (lengths.total_steps == 0) return;
  if (loaded_after > lengths.total_steps) {
    throw base::ConfigError(
        fmt::format("algorithms.swa: with end {} and interval {} the average would be loaded after "
                    "step {}, and the run has {}: let end come earlier, or count interval in ba",
                    end.to_string(), interval.to_string(), loaded_after, lengths.total_steps));
  }
  if (refresh == StatisticsRefresh::kNever && is_late(loaded_after, lengths) &&
      run.is_main_rank() && has_moving_statistics(state.task->network())) {
    base::log_warning(
        "algorithms.swa: the average is loaded after step {} of {}, and less than an epoch is left "
        "for BatchNorm's statistics to follow: let algorithms.swa.end come earlier, or refresh be "
        "auto",
        loaded_after, lengths.total_steps);
  }
}

// A run that only the clock on the wall ends may end at any step.
bool Swa::is_late(std::int64_t step, const config::StepLengths& lengths) {
  return lengths.total_steps - step < lengths.steps_per_epoch;
}

void Swa::load(train::TrainState& state, const train::RunContext& run) {
  is_loaded_ = true;
  if (num_averaged_ == 0) return;  // it came into a run that was past its end
  average_->load();
  const bool refreshes = config_.refresh == StatisticsRefresh::kAlways ||
                         (config_.refresh == StatisticsRefresh::kAuto &&
                          is_late(state.clock.step, state.clock.lengths));
  if (refreshes && has_moving_statistics(state.task->network()))
    state.wants_fresh_statistics = true;
  if (run.is_main_rank())
    base::log_info("swa: the mean of {} sets of weights is loaded after step {}{}", num_averaged_,
                   state.clock.step,
                   state.wants_fresh_statistics
                       ? "; a pass over the training data gives BatchNorm its statistics"
                       : "");
}

std::vector<tensor::StateShard> Swa::tensors(const train::TrainState& /*state*/) const {
  return average_->shards(fmt::format("{}{}/", tensor::kAlgorithms, name()));
}

nlohmann::json Swa::state_dict() const {
  return {{"num_averaged", num_averaged_}, {"is_loaded", is_loaded_}};
}

void Swa::load_state_dict(const nlohmann::json& state) {
  state.at("num_averaged").get_to(num_averaged_);
  state.at("is_loaded").get_to(is_loaded_);
}

std::unique_ptr<train::Algorithm> make(const SwaConfig& config) {
  return std::make_unique<Swa>(config);
}

}  // namespace paceline::algorithms
