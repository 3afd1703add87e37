#include "paceline/loggers/progress.h"

#include <cmath>
#include <limits>

namespace paceline::loggers {

void StepPace::add_step(std::int64_t step, double time_s) {
  constexpr int kWarmUpSteps = 2;
  constexpr double kWeightOfNewest = 0.02;
  if (has_last_ && step > last_step_ && ++num_steps_ > kWarmUpSteps) {
    const double seconds = (time_s - last_time_s_) / static_cast<double>(step - last_step_);

    const double weight = std::fmax(kWeightOfNewest, 1.0 / (num_steps_ - kWarmUpSteps));
    seconds_per_step_ += weight * (seconds - seconds_per_step_);
  }
  last_step_ = step;
  last_time_s_ = time_s;
  has_last_ = true;
}

double StepPace::seconds_for(std::int64_t steps) const {
  if (seconds_per_step_ <= 0) return std::numeric_limits<double>::quiet_NaN();
  return seconds_per_step_ * static_cast<double>(steps);
}

}  // namespace paceline::loggers
