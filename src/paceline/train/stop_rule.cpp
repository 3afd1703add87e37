#include "paceline/train/stop_rule.h"

#include "paceline/base/clock.h"

namespace paceline::train {

StopRule::StopRule(const TrainerConfig& config, const config::StepLengths& lengths)
    : last_step_(last_step_of(config.duration, lengths)),
      min_steps_(config.min_duration ? to_steps(*config.min_duration, lengths) : 0),
      wall_clock_limit_s_(wall_clock_limit_of(config.duration)) {
  if (config.stop_when) stop_when_ = Condition::parse(*config.stop_when);
}

void StopRule::start(const Clock& clock) {
  elapsed_before_s_ = clock.elapsed_s;
  start_s_ = base::SystemClock().monotonic_s();
}

double StopRule::elapsed_s() const {
  return elapsed_before_s_ + base::SystemClock().monotonic_s() - start_s_;
}

FitResult StopRule::out_of_time() {
  return {FitResult::Reason::kWallClock, "the run reached its wall-clock duration"};
}

std::optional<FitResult> StopRule::at_start(const Clock& clock) const {
  if (clock.step >= last_step_) return FitResult{.text = "the run was complete already"};
  if (clock.step > 0 && elapsed_before_s_ >= wall_clock_limit_s_) return out_of_time();
  return std::nullopt;
}

std::optional<FitResult> StopRule::at_safe_point(const TrainState& state,
                                                 const std::optional<std::string>& asked) const {
  if (state.clock.step >= min_steps_) {
    if (stop_when_ && stop_when_->holds(state.last_eval))
      return FitResult{FitResult::Reason::kCondition, stop_when_->to_string() + " holds"};
    if (asked) return FitResult{FitResult::Reason::kCallback, *asked};
  }
  if (state.clock.step >= last_step_) return FitResult{.text = "the run reached its duration"};
  return std::nullopt;
}

}  // namespace paceline::train
