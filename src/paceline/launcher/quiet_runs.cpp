#include "paceline/launcher/quiet_runs.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launch/supervised_rank.h"
#include "paceline/launcher/children/last_words.h"
#include "paceline/launcher/children/taken_signals.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>

namespace paceline::launcher {
namespace {

using Clock = TakenSignals::Clock;

/// Beyond the launchers' own grace period, for them to kill their ranks and to say so.
constexpr double kMoreGraceSeconds = 5;

struct Process {
  const QuietRun* run;
  pid_t pid;
};

Process start(const QuietRun& run, const launch::Environment& environment, const sigset_t& mask) {
  const launch::Descriptor log(
      open(run.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log.is_open()) throw base::FileError("write", run.log, errno);
  return {&run, launch::spawn_rank({.command = run.command,
                                    .environment = environment,
                                    .stdout_descriptor = log.get(),
                                    .stderr_descriptor = log.get(),
                                    .signal_mask = mask})};
}

void throw_if_failed(const QuietRun& run, int status) {
  const int code = launch::exit_code_of_status(status);
  if (code == 0) return;
  const std::string words = last_words(base::read_file(run.log));
  throw base::Error(static_cast<base::ExitCode>(code),
                    words.empty() ? fmt::format("{} ended with {}", base::join(run.command, " "),
                                                launch::describe_status(status))
                                  : words);
}

/// Takes the next that has ended out of the list; its status, or nothing if none has.
bool reap_one(std::vector<Process>& processes, Process& ended, int& status) {
  for (auto process = processes.begin(); process != processes.end(); ++process) {
    const std::optional<int> found = launch::reap_child(process->pid, WNOHANG);
    if (!found) continue;
    status = *found;
    ended = *process;
    processes.erase(process);
    return true;
  }
  return false;
}

/// Ends what is left, gently at first, since paceline's own programs end their ranks; by force at
/// the end of the grace period or when one more Ctrl-C comes.
void end_all(std::vector<Process> processes, const TakenSignals& signals, double grace_seconds) {
  for (const Process& process : processes) kill(process.pid, SIGTERM);
  const auto grace = std::chrono::duration<double>(grace_seconds + kMoreGraceSeconds);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(grace);
  Process ended{};
  int status = 0;
  while (true) {
    while (reap_one(processes, ended, status)) continue;
    if (processes.empty()) return;
    const std::optional<int> signal = signals.take_until(deadline);
    if (!signal || *signal == SIGINT) break;
  }
  for (const Process& process : processes) kill(process.pid, SIGKILL);
  for (const Process& process : processes) launch::reap_child(process.pid, 0);
}

}  // namespace

void run_quietly(const std::vector<QuietRun>& runs, const launch::Environment& environment) {
  const double grace_seconds =
      environment.get_seconds(launch::kGraceVariable, 0).value_or(launch::kDefaultGraceSeconds);
  const TakenSignals signals;
  std::vector<Process> processes;
  try {
    for (const QuietRun& run : runs) processes.push_back(start(run, environment, signals.before()));
    while (!processes.empty()) {
      const int signal = signals.take();
      if (signal != SIGCHLD)
        throw base::Error(static_cast<base::ExitCode>(128 + signal),
                          fmt::format("ended by signal {}", signal));
      Process ended{};
      int status = 0;
      while (reap_one(processes, ended, status)) throw_if_failed(*ended.run, status);
    }
  } catch (...) {
    end_all(std::move(processes), signals, grace_seconds);
    throw;
  }
}

}  // namespace paceline::launcher
