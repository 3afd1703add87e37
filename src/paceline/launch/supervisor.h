#pragma once

#include "paceline/launch/environment.h"
#include "paceline/launch/plan.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::launch {

/// How a group of ranks is run.
struct SupervisorSettings {
  std::vector<std::string>
      command;  ///< path of the program and its arguments, the same for each rank
  int master_port = 0;
  std::optional<std::filesystem::path> log_dir = {};  ///< existing folder for rank_0000.log, ...
  /// Whether rank 0 writes to the terminal itself, if standard output or error is one, so that it
  /// can draw there; its lines are then neither logged nor repeated after a failure.
  bool rank_zero_keeps_terminal = true;
  /// Whether rank 0's standard output is the result of the command, such as a JSON object, and is
  /// passed on as it is.
  bool rank_zero_prints_result = false;
  double grace_after_failure_seconds =
      5;  ///< for the others to stop in; the plan has that of a signal
  /// How long the other ranks may go on after the first failure before they are told to stop: what
  /// is wrong with one is often wrong with all (a recipe, say), and then the rank that explains it
  /// should be heard.
  double first_failure_window_seconds = 0.5;
};

/// Runs this machine's ranks to their end and returns the exit code for the launcher.
///
/// Output: each line of a rank is written whole to the launcher's own stdout or stderr, after
/// "[rank N] " if there is more than one rank in the world.
///
/// Failure: the first rank to end with a non-zero code or by a signal decides the exit code (128 +
/// signal), and its last lines are shown. A rank that ends with kComm has lost a peer, so if
/// another rank fails in its own way within first_failure_window_seconds, that one decides. The
/// others get SIGTERM, and after the grace period SIGKILL.
///
/// Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded once, and what has not ended when the
/// plan's grace period is over gets SIGKILL; a second SIGINT kills all ranks. SIGUSR1 and SIGUSR2
/// are forwarded always; in a Slurm job they announce its end, and a rank that ends by them was
/// stopped, in as much time as Slurm gives. The ranks then decide: 0 if all end with 0, else the
/// first code that is not 128 + signal, else 128 + signal. Signals that were ignored at the start
/// stay so.
///
/// Must be called by the main thread; the kernel ties the ranks' lives to the calling thread.
int supervise(const LaunchPlan& plan, const SupervisorSettings& settings,
              const Environment& environment);

}  // namespace paceline::launch
