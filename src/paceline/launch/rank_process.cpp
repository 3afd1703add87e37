#include "paceline/launch/rank_process.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"
#include "paceline/base/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

/// argv or envp for the exec family; the strings must outlive it.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

pid_t spawn_rank(const RankStart& start) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, start.stdout_descriptor, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, start.stderr_descriptor, STDERR_FILENO);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  // The launcher's own SIGPIPE; and a SIGCHLD that whoever started it ignores would hide from the
  // rank how its own children end.
  for (const int signal : {SIGPIPE, SIGCHLD}) sigaddset(&defaults, signal);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &start.signal_mask);
  posix_spawnattr_setsigdefault(&attributes, &defaults);

  std::vector<std::string> arguments{"paceline", std::string(kExecRankVerb),
                                     std::to_string(getpid())};
  arguments.insert(arguments.end(), start.command.begin(), start.command.end());
  const std::vector<std::string> entries = start.environment.entries();
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                pointers(arguments).data(), pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw base::ConfigError(fmt::format("cannot start a rank ({}): {}", std::strerror(error),
                                        base::limit_behind(error)));
  return pid;
}

std::optional<int> reap_child(pid_t pid, int options) {
  int status = 0;
  pid_t found = -1;
  do {
    found = waitpid(pid, &status, options);
  } while (found < 0 && errno == EINTR);
  if (found == 0) return std::nullopt;
  if (found == pid) return status;
  throw base::InternalError(
      fmt::format("how process {} ended cannot be told: waitpid: {}", pid, std::strerror(errno)));
}

int exec_rank(std::span<const std::string> arguments) {
  if (arguments.size() < 2) {
    std::fputs("paceline: __exec-rank is for the launcher's own use\n", stderr);
    return static_cast<int>(base::ExitCode::kConfig);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the launcher died before prctl, the signal never comes and the parent is another one.
  if (std::to_string(getppid()) != arguments[0]) return 128 + SIGKILL;
  // The rank's group is not the terminal's, yet rank 0 may draw on it under `stty tostop`.
  signal(SIGTTOU, SIG_IGN);
  exec_program({arguments.begin() + 1, arguments.end()}, Environment::of_process());
}

void exec_program(const std::vector<std::string>& command, const Environment& environment) {
  const std::vector<std::string> entries = environment.entries();
  execve(command[0].c_str(), pointers(command).data(), pointers(entries).data());
  throw base::ConfigError(fmt::format("cannot execute {}: {}", command[0], std::strerror(errno)));
}

std::string find_program(const std::string& name, const Environment& environment) {
  const auto is_program = [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
  };
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
    throw base::ConfigError(fmt::format("{} is not a program: {}", name,
                                        std::filesystem::exists(name)
                                            ? "it is not an executable file (chmod +x makes it one)"
                                            : "there is no such file"));
  }
  for (const std::string& folder : base::split(environment.get_or("PATH", "/usr/bin:/bin"), ':')) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(path)) return path;
  }
  throw base::ConfigError(fmt::format("there is no program \"{}\" in PATH", name));
}

}  // namespace paceline::launch
