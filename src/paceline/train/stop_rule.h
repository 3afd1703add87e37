#pragma once

#include "paceline/train/train_state.h"
#include "paceline/train/trainer_config.h"
#include "paceline/train/watch/condition.h"
#include "paceline/train/watch/run_speed.h"

#include <cstdint>
#include <optional>
#include <string>

namespace paceline::train {

/// How a run ended.
struct FitResult {
  enum class Reason { kDuration, kWallClock, kCondition, kCallback, kSignal };
  Reason reason = Reason::kDuration;
  std::string text;  ///< for people: "val/top1 >= 0.78 holds"
  int signal = 0;    ///< for kSignal
  SpeedReport speed = {};
};

/// When a run ends, but for signals: its duration in steps and by the clock on the wall, its
/// condition, and callbacks that ask for it.
class StopRule {
 public:
  StopRule(const TrainerConfig& config, const config::StepLengths& lengths);

  /// The run begins or goes on; from here on time counts.
  void start(const Clock& clock);

  std::int64_t last_step() const { return last_step_; }
  /// Of all starts of the run.
  double elapsed_s() const;
  /// May differ by rank.
  bool is_past_wall_clock() const { return elapsed_s() >= wall_clock_limit_s_; }

  /// What ends a run before the first of its steps: it was complete, or out of time, already.
  std::optional<FitResult> at_start(const Clock& clock) const;
  /// What ends it now; the same on all ranks. `asked` is why a callback asks for it.
  std::optional<FitResult> at_safe_point(const TrainState& state,
                                         const std::optional<std::string>& asked) const;

  static FitResult out_of_time();

 private:
  std::optional<Condition> stop_when_;
  std::int64_t last_step_;  ///< the run ends after so many steps at the latest
  std::int64_t min_steps_;
  double wall_clock_limit_s_;    ///< infinite if there is none
  double elapsed_before_s_ = 0;  ///< of earlier starts of the run
  double start_s_ = 0;
};

}  // namespace paceline::train
