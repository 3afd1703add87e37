#include "paceline/launcher/quiet_runs.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launch/supervised_rank.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <sys/wait.h>

namespace paceline::launcher {
namespace {

/// While it lives, these signals wait to be taken instead of ending the process.
class TakenSignals {
 public:
  TakenSignals() {
    sigemptyset(&taken_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&taken_, signal);
    pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  }
  ~TakenSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;

  const sigset_t& before() const { return before_; }
  int take() const {
    int signal = 0;
    sigwait(&taken_, &signal);
    return signal;
  }

 private:
  sigset_t taken_{};
  sigset_t before_{};
};

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

/// What follows the last "error: ", which may be several lines; else the last line.
std::string last_words(const std::filesystem::path& log) {
  constexpr std::string_view kError = "error: ";
  const std::string text(base::trim(base::read_file(log)));
  const std::size_t error = text.rfind(kError);
  return error == std::string::npos ? text.substr(text.rfind('\n') + 1)
                                    : text.substr(error + kError.size());
}

void throw_if_failed(const QuietRun& run, int status) {
  const int code = launch::exit_code_of_status(status);
  if (code == 0) return;
  const std::string words = last_words(run.log);
  throw base::Error(static_cast<base::ExitCode>(code),
                    words.empty() ? fmt::format("{} ended with {}", base::join(run.command, " "),
                                                launch::describe_status(status))
                                  : words);
}

/// Ends what is left, gently at first: paceline's own programs end their ranks.
void end_all(const std::vector<Process>& processes) {
  for (const Process& process : processes) kill(process.pid, SIGTERM);
  for (const Process& process : processes) waitpid(process.pid, nullptr, 0);
}

/// Takes the next that has ended out of the list; its status, or nothing if none has.
bool reap_one(std::vector<Process>& processes, Process& ended, int& status) {
  for (auto process = processes.begin(); process != processes.end(); ++process) {
    if (waitpid(process->pid, &status, WNOHANG) != process->pid) continue;
    ended = *process;
    processes.erase(process);
    return true;
  }
  return false;
}

}  // namespace

void run_quietly(const std::vector<QuietRun>& runs, const launch::Environment& environment) {
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
    end_all(processes);
    throw;
  }
}

}  // namespace paceline::launcher
