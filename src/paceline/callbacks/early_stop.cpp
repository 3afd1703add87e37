#include "paceline/callbacks/early_stop.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/train/train_state.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace paceline::callbacks {

std::optional<std::string> EarlyStop::on_event(train::Event event, const train::TrainState& state,
                                               const train::RunContext&) {
  if (event == train::Event::kEvaluated) count(state.last_eval);
  if (evaluations_since_best_ < config_.patience) return std::nullopt;
  if (!best_) {
    return fmt::format("{} was no number in {} evaluations", config_.monitor,
                       evaluations_since_best_);
  }
  return fmt::format("{} has not improved on {:.6g} for {} evaluations", config_.monitor, *best_,
                     evaluations_since_best_);
}

void EarlyStop::count(const std::map<std::string, double>& evaluation) {
  const auto found = evaluation.find(config_.monitor);
  if (found == evaluation.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : evaluation) names.push_back(name);
    throw base::ConfigError(fmt::format(
        "callbacks.early_stop.monitor: '{}' is no metric of the evaluation; expected one of {}",
        config_.monitor, base::join(names, ", ")));
  }
  const double value = found->second;
  const bool is_better =
      !best_ || (config_.mode == train::MonitorMode::kMax ? value > *best_ + config_.min_delta
                                                          : value < *best_ - config_.min_delta);
  if (is_better && !std::isnan(value)) {
    best_ = value;
    evaluations_since_best_ = 0;
  } else {
    ++evaluations_since_best_;
  }
}

nlohmann::json EarlyStop::state_dict() const {
  return {{"monitor", config_.monitor},
          {"mode", config::enum_name(config_.mode)},
          {"best", best_ ? nlohmann::json(*best_) : nlohmann::json()},
          {"evaluations_since_best", evaluations_since_best_}};
}

void EarlyStop::load_state_dict(const nlohmann::json& state) {
  // Another metric's best says nothing; older checkpoints could not change it.
  if (state.value("monitor", config_.monitor) != config_.monitor ||
      state.value("mode", std::string(config::enum_name(config_.mode))) !=
          config::enum_name(config_.mode)) {
    return;
  }
  const auto& best = state.at("best");
  best_ = best.is_null() ? std::nullopt : std::optional(best.get<double>());
  evaluations_since_best_ = state.at("evaluations_since_best").get<std::int64_t>();
}

std::unique_ptr<train::Callback> make(const EarlyStopConfig& config) {
  return std::make_unique<EarlyStop>(config);
}

}  // namespace paceline::callbacks
