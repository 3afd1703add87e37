#include "paceline/callbacks/early_stop.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/train/train_state.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace paceline::callbacks {

std::optional<std::string> EarlyStop::on_event(train::Event event, const train::TrainState& state,
                                               const train::RunContext&) {
  look_at(train::monitor_of(
      config_.monitor, config_.mode,
      config_.monitor ? std::span<const train::Metric>() : state.task->metrics()));
  if (event == train::Event::kEvaluated) count(state.last_eval);
  if (evaluations_since_best_ < config_.patience) return std::nullopt;
  if (!best_) {
    return fmt::format("{} was no number in {} evaluations", monitor_->metric,
                       evaluations_since_best_);
  }
  return fmt::format("{} has not improved on {:.6g} for {} evaluations", monitor_->metric, *best_,
                     evaluations_since_best_);
}

void EarlyStop::look_at(const train::Monitor& monitor) {
  if (monitor_ && monitor != *monitor_) {  // another metric's best says nothing
    best_.reset();
    evaluations_since_best_ = 0;
  }
  monitor_ = monitor;
}

void EarlyStop::count(const std::map<std::string, double>& evaluation) {
  const auto found = evaluation.find(monitor_->metric);
  if (found == evaluation.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : evaluation) names.push_back(name);
    throw base::ConfigError(fmt::format(
        "callbacks.early_stop.monitor: '{}' is no metric of the evaluation; expected one of {}",
        monitor_->metric, base::join(names, ", ")));
  }
  const double value = found->second;
  const bool is_better =
      !best_ || (monitor_->mode == train::MonitorMode::kMax ? value > *best_ + config_.min_delta
                                                            : value < *best_ - config_.min_delta);
  if (is_better && !std::isnan(value)) {
    best_ = value;
    evaluations_since_best_ = 0;
  } else {
    ++evaluations_since_best_;
  }
}

std::vector<double> EarlyStop::scalars(train::Event) const {
  return {best_.value_or(std::numeric_limits<double>::quiet_NaN()),
          static_cast<double>(evaluations_since_best_)};
}

nlohmann::json EarlyStop::state_dict() const {
  nlohmann::json state{{"best", best_ ? nlohmann::json(*best_) : nlohmann::json()},
                       {"evaluations_since_best", evaluations_since_best_}};
  if (monitor_) {
    state["monitor"] = monitor_->metric;
    state["mode"] = config::enum_name(monitor_->mode);
  }
  return state;
}

void EarlyStop::load_state_dict(const nlohmann::json& state) {
  if (state.contains("monitor")) {  // older checkpoints could not change it
    const bool is_max = state.value("mode", "max") == config::enum_name(train::MonitorMode::kMax);
    monitor_ = {state.at("monitor"), is_max ? train::MonitorMode::kMax : train::MonitorMode::kMin};
  }
  const auto& best = state.at("best");
  best_ = best.is_null() ? std::nullopt : std::optional(best.get<double>());
  evaluations_since_best_ = state.at("evaluations_since_best").get<std::int64_t>();
}

std::unique_ptr<train::Callback> make(const EarlyStopConfig& config) {
  return std::make_unique<EarlyStop>(config);
}

}  // namespace paceline::callbacks
