#include "paceline/algorithms/plateau/plateau.h"

#include "paceline/base/log.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

namespace paceline::algorithms {

using train::Event;

Plateau::Plateau(const PlateauConfig& config)
    : config_(config), mode_(train::monitor_of(config.monitor, config.mode, {}).mode) {}

train::AlgorithmTraits Plateau::traits() const {
  return {.events = {Event::kFitStart, Event::kEvaluated},
          .may_come_or_go = true,
          .scalars = {"lr_factor"}};
}

void Plateau::apply(Event event, train::TrainState& state, const train::RunContext& run) {
  const double before = factor_;
  if (event == Event::kEvaluated) look_at(state.last_eval.at(config_.monitor));
  state.lr_factor = factor_;
  if (factor_ < before && run.communicator.rank() == 0) {
    base::log_info(
        "algorithms.plateau: {} has not improved for {} evaluations; the learning rate is "
        "multiplied by {:g} from now on",
        config_.monitor, config_.patience + 1, factor_);
  }
}

void Plateau::look_at(double value) {
  if (is_better(value)) {
    best_ = value;
    evaluations_since_best_ = 0;
  } else {
    ++evaluations_since_best_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    evaluations_since_best_ = 0;
  }
  if (evaluations_since_best_ <= config_.patience) return;
  factor_ = std::min(factor_, std::max(factor_ * config_.factor, config_.min_factor));
  cooldown_left_ = config_.cooldown;
  evaluations_since_best_ = 0;
}

bool Plateau::is_better(double value) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_max = mode_ == train::MonitorMode::kMax;
  const double sign = is_max ? 1 : -1;
  double bound = -sign * kInfinity;
  if (best_ && config_.threshold_kind == ThresholdKind::kRelative)
    bound = *best_ * (1 + sign * config_.threshold);
  else if (best_)
    bound = *best_ + sign * config_.threshold;
  return is_max ? value > bound : value < bound;
}

nlohmann::json Plateau::state_dict() const {
  return {{"best", best_ ? nlohmann::json(*best_) : nlohmann::json()},
          {"evaluations_since_best", evaluations_since_best_},
          {"cooldown_left", cooldown_left_},
          {"factor", factor_}};
}

void Plateau::load_state_dict(const nlohmann::json& state) {
  const nlohmann::json& best = state.at("best");
  best_ = best.is_null() ? std::nullopt : std::optional(best.get<double>());
  state.at("evaluations_since_best").get_to(evaluations_since_best_);
  state.at("cooldown_left").get_to(cooldown_left_);
  state.at("factor").get_to(factor_);
}

std::unique_ptr<train::Algorithm> make(const PlateauConfig& config) {
  return std::make_unique<Plateau>(config);
}

}  // namespace paceline::algorithms
