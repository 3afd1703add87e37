#pragma once

#include "paceline/launch/signal_queue.h"
#include "paceline/launch/supervised_rank.h"

#include <filesystem>

#include <sys/types.h>

namespace paceline::launcher {

/// A run that was put into the background, as the process that did so sees it.
struct BackgroundRun {
  std::filesystem::path run_dir;
  std::filesystem::path log_path;
  launch::Descriptor log;    ///< the same file, for reading, where this start of the run begins
  launch::Descriptor words;  ///< a pipe: an empty line when the run is on record, and then of each
                             ///< rank of this machine one with the number of its first step
  int num_ranks = 1;         ///< of this machine
  pid_t launcher = -1;       ///< a child of this process
};

/// Waits until the ranks of this machine have all done their first step or the run has ended, and
/// tells which, and how to follow and stop it. Returns 0 if it trains or has ended well, else the
/// run's exit code, after the end of its log. A signal ends the wait alone, with 128 + signal.
/// `signals` holds SIGCHLD and those that may end the wait.
int await_first_step(const BackgroundRun& run, const launch::SignalQueue& signals);

}  // namespace paceline::launcher
