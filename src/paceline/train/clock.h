#pragma once

#include "paceline/config/duration.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace paceline::train {

/// How far the run is. The loader's position is `step`: one global batch per optimizer step.
struct Clock {
  std::int64_t step = 0;        ///< optimizer steps done
  std::int64_t samples = 0;     ///< training samples seen, over all ranks
  double elapsed_s = 0;         ///< wall clock of training, over all starts of the run
  config::StepLengths lengths;  ///< constant; a resumed run must have the same

  std::int64_t epoch() const { return step / lengths.steps_per_epoch; }  ///< epochs completed
  std::int64_t batch_in_epoch() const { return step % lengths.steps_per_epoch; }
  bool is_epoch_start() const { return batch_in_epoch() == 0; }
};

/// The step at which the first of the durations that are counted in steps ends; the largest number
/// if none is.
inline std::int64_t last_step_of(const config::DurationList& durations,
                                 const config::StepLengths& lengths) {
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (const config::Duration& duration : durations.any_of) {
    if (duration.unit != config::TimeUnit::kSecond)
      last = std::min(last, to_steps(duration, lengths));
  }
  return last;
}

/// The shortest of those that are counted in seconds, or infinity.
inline double wall_clock_limit_of(const config::DurationList& durations) {
  double limit = std::numeric_limits<double>::infinity();
  for (const config::Duration& duration : durations.any_of) {
    if (duration.unit == config::TimeUnit::kSecond) limit = std::min(limit, duration.value);
  }
  return limit;
}

}  // namespace paceline::train
