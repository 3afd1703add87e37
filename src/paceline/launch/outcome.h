#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

namespace paceline::launch {

/// How one rank ended.
struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  int status = 0;             ///< as waitpid gives it
  bool told_to_stop = false;  ///< the launcher had already stopped it because another rank failed
  bool killed = false;        ///< by the launcher, at the end of the grace period
};

struct Outcome {
  int exit_code = 0;
  std::optional<std::size_t> culprit;  ///< index of the end that decided, if a rank failed
};

/// 0 to 255 as a shell shows it: the exit code, or 128 + signal.
int exit_code_of_status(int status);

/// "exit code 3" or "killed by SIGSEGV (signal 11)".
std::string describe_status(int status);

/// Decides the launcher's exit code. `ends` are in order of time; `signals` are those that asked
/// the ranks, through the launcher, to stop, the first one first. The rules are those of
/// supervise().
Outcome decide_outcome(std::span<const RankEnd> ends, std::span<const int> signals);

}  // namespace paceline::launch
