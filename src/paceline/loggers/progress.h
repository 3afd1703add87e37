#pragma once

#include <cstdint>

namespace paceline::loggers {

/// Time left of a run, from the mean time of the last steps, where newer ones weigh more. The first
/// steps, which warm caches up, and steps after an interruption (evaluation, saving) are left out.
class StepPace {
 public:
  void add_step(std::int64_t step, double time_s);
  /// The time until the next step is not a step's time.
  void interrupt() { has_last_ = false; }

  /// 0 until known.
  double steps_per_s() const { return seconds_per_step_ > 0 ? 1 / seconds_per_step_ : 0; }
  /// NaN until known.
  double seconds_for(std::int64_t steps) const;

 private:
  std::int64_t last_step_ = 0;
  double last_time_s_ = 0;
  bool has_last_ = false;
  int num_steps_ = 0;
  double seconds_per_step_ = 0;
};

}  // namespace paceline::loggers
