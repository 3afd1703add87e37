#include "paceline/launcher/children/children.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launch/supervised_rank.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

namespace paceline::launcher {
namespace {

/// While it lives, this thread, and what it starts, is confined to some CPUs. A system that refuses
/// leaves it where it was.
class Confinement {
 public:
  explicit Confinement(const std::vector<int>& cores) {
    if (cores.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int core : cores) CPU_SET(core, &mask);
    is_set_ = sched_setaffinity(0, sizeof mask, &mask) == 0;
  }
  ~Confinement() {
    if (is_set_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;

 private:
  cpu_set_t before_{};
  bool is_set_ = false;
};

launch::Descriptor open_for_adding(const std::filesystem::path& path) {
  launch::Descriptor log(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!log.is_open()) throw base::FileError("write", path, errno);
  return log;
}

}  // namespace

pid_t Children::start(const ChildStart& start) {
  const launch::Descriptor output = open_for_adding(start.output);
  const launch::Descriptor errors = open_for_adding(start.errors);
  const Confinement confinement(start.cores);
  running_.push_back(launch::spawn_rank({.command = start.command,
                                         .environment = start.environment,
                                         .stdout_descriptor = output.get(),
                                         .stderr_descriptor = errors.get(),
                                         .signal_mask = signals_.before()}));
  return running_.back();
}

std::optional<ChildEnd> Children::reap_one() {
  for (auto pid = running_.begin(); pid != running_.end(); ++pid) {
    const std::optional<int> status = launch::reap_child(*pid, WNOHANG);
    if (!status) continue;
    const ChildEnd end{*pid, *status};
    running_.erase(pid);
    return end;
  }
  return std::nullopt;
}

ChildNews Children::wait(std::optional<TakenSignals::Clock::time_point> deadline) {
  while (true) {
    if (auto end = reap_one()) return {.end = end};
    const std::optional<int> signal = deadline ? signals_.take_until(*deadline) : signals_.take();
    if (!signal) return {};
    if (*signal != SIGCHLD) return {.end = {}, .signal = *signal};
  }
}

void Children::ask_to_stop() const {
  for (const pid_t pid : running_) kill(pid, SIGTERM);
}

void Children::kill_all() {
  for (const pid_t pid : running_) kill(pid, SIGKILL);
  for (const pid_t pid : running_) launch::reap_child(pid, 0);
  running_.clear();
}

}  // namespace paceline::launcher
