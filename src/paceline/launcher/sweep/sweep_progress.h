#pragma once

#include "paceline/launcher/sweep/sweep_state.h"

#include <cstddef>
#include <string>

namespace paceline::launcher {

/// How far the queue of a sweep is.
struct SweepProgress {
  int num_running = 0;
  double work_done = 0;  ///< since this start, in longest trials
  double elapsed_s = 0;  ///< since this start
};

/// How often trials end in all: of halving, on each rung.
int num_runs(const Sweep& sweep);
/// How many have.
int num_ended(const Sweep& sweep);
/// What is left, in longest trials; what comes after a failed one is not.
double work_left(const Sweep& sweep);

/// "4/9 done, 2 running; best val/top1 0.7321 of trial 2 (optimizer.lr=0.1); 4 m 05 s left".
std::string progress_text(const Sweep& sweep, const SweepProgress& progress);

/// "trial 3 (optimizer.lr=0.1): val/top1 0.7321 after 12.3 s", or how it failed.
std::string trial_text(const Sweep& sweep, std::size_t index);

}  // namespace paceline::launcher
