#pragma once

#include "paceline/launch/environment.h"
#include "paceline/launcher/children/taken_signals.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace paceline::launcher {

/// One start of a program.
struct ChildStart {
  std::vector<std::string> command = {};  ///< path of the program and its arguments
  launch::Environment environment = {};
  std::filesystem::path output = {};  ///< what it prints is added to this file
  std::filesystem::path errors = {};  ///< the same or another
  std::vector<int> cores = {};        ///< CPUs it may use; empty: those of this process
};

struct ChildEnd {
  pid_t pid = 0;
  int status = 0;  ///< as waitpid gives it
};

/// What Children::wait() has waited for; nothing of both once the time is over.
struct ChildNews {
  std::optional<ChildEnd> end = {};
  int signal = 0;  ///< SIGINT, SIGTERM or SIGHUP came
};

/// Programs that run beside each other, and this process's signals while they do. The kernel kills
/// them when this process dies. What still runs at the end of this object's life is killed. For the
/// main thread.
class Children {
 public:
  Children() = default;
  ~Children() { kill_all(); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Throws FileError, ConfigError.
  pid_t start(const ChildStart& start);
  bool are_running() const { return !running_.empty(); }
  ChildNews wait(std::optional<TakenSignals::Clock::time_point> deadline = std::nullopt);

  /// SIGTERM: paceline's own programs save and end their ranks.
  void ask_to_stop() const;
  /// SIGKILL; returns when all are gone.
  void kill_all();

 private:
  std::optional<ChildEnd> reap_one();

  TakenSignals signals_;
  std::vector<pid_t> running_;
};

}  // namespace paceline::launcher
