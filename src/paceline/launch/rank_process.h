#pragma once

#include "paceline/launch/environment.h"

#include <csignal>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace paceline::launch {

/// The hidden verb of the launcher's own program that exec_rank() serves.
inline constexpr std::string_view kExecRankVerb = "__exec-rank";

/// What one rank is started with.
struct RankStart {
  std::vector<std::string> command;  ///< path of the program and its arguments
  Environment environment;
  int stdout_descriptor = 1;  ///< stays the caller's
  int stderr_descriptor = 2;
  sigset_t signal_mask{};  ///< signals the rank blocks
};

/// Starts a rank, in a process group of its own with /dev/null as standard input, by executing this
/// very program again with kExecRankVerb: setting the parent-death signal needs code to run between
/// fork and exec, which is not safe in a process that may have threads. Throws ConfigError if the
/// system refuses.
pid_t spawn_rank(const RankStart& start);

/// The status of waitpid(2) with these options; nothing where WNOHANG is among them and the process
/// has not ended. Throws InternalError if the system does not tell: a failure must never pass for
/// an exit code of 0.
std::optional<int> reap_child(pid_t pid, int options);

/// What kExecRankVerb does, with the arguments that follow it: asks the kernel to kill this process
/// when the launcher dies, makes sure that it has not died already, and becomes the program.
/// Returns an exit code only if it cannot.
int exec_rank(std::span<const std::string> arguments);

/// Becomes `command`. Returns only by throwing ConfigError if it cannot be executed.
[[noreturn]] void exec_program(const std::vector<std::string>& command,
                               const Environment& environment);

/// The path of a program as a shell would find it. Throws ConfigError if there is none.
std::string find_program(const std::string& name, const Environment& environment);

}  // namespace paceline::launch
