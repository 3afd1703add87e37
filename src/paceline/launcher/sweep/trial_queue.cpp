#include "paceline/launcher/sweep/trial_queue.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/text.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/children/last_words.h"
#include "paceline/launcher/sweep/recipe_probe.h"
#include "paceline/launcher/sweep/rung_settings.h"
#include "paceline/launcher/sweep/sweep_progress.h"
#include "paceline/launcher/sweep/trial_outcome.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <utility>

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

/// Beyond the launchers' own grace period, for them to kill their ranks and to say so.
constexpr double kGraceToKillRanksSeconds = 5;

std::uint64_t size_of(const fs::path& file) {
  return base::file_exists(file) ? fs::file_size(file) : 0;
}

/// So that a line that changes is one line.
std::string cut_to_terminal(const std::string& text) {
  constexpr std::size_t kUsualWidth = 80;
  constexpr std::size_t kEllipsis = 4;
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > kEllipsis;
  return base::excerpt(text, (is_known ? size.ws_col : kUsualWidth) - kEllipsis);
}

/// In one line: what the program said last, or how it ended.
std::string error_of(const fs::path& log, std::uint64_t log_size, int status) {
  constexpr std::size_t kLongest = 500;
  const std::string printed = base::read_file(log);
  const std::string words = last_words(std::string_view(printed).substr(log_size));
  if (WIFSIGNALED(status)) {
    const bool may_lack_memory = WTERMSIG(status) == SIGKILL;
    return launch::describe_status(status) +
           (may_lack_memory ? ", perhaps as the machine's memory was full" : "");
  }
  return words.empty() ? launch::describe_status(status) : base::excerpt(words, kLongest);
}

}  // namespace

TrialQueue::TrialQueue(TrialStarts starts, Sweep& sweep, SweepFolder& folder, Children& children)
    : starts_(std::move(starts)), sweep_(sweep), folder_(folder), children_(children) {
  for (std::size_t i = 0; i < starts_.shares.size(); ++i) free_shares_.push_back(i);
}

void TrialQueue::run() {
  folder_.write(sweep_);
  const int num_ended_before = num_ended(sweep_);
  say(fmt::format("{} trials in {}{}", sweep_.trials.size(), folder_.path().string(),
                  num_ended_before > 0 ? ", going on" : ""));
  for (std::size_t rung = 0; rung < sweep_.rungs.size(); ++rung) run_rung(rung);
}

void TrialQueue::run_rung(std::size_t rung) {
  for (const std::size_t trial : members_of_rung(sweep_, rung)) {
    const TrialRecord& record = sweep_.records[trial];
    if (!record.has_failed && record.metrics.size() <= rung) waiting_.push_back(trial);
  }
  while (true) {
    if (signal_ == 0) fill_shares(rung);
    if (running_.empty()) break;
    const auto next_look =
        progress_.is_terminal() ? Clock::now() + std::chrono::seconds(1) : Clock::time_point::max();
    const auto deadline = std::min(kill_at_, next_look);
    const bool waits_for_time = deadline != Clock::time_point::max();
    take(children_.wait(waits_for_time ? std::optional(deadline) : std::nullopt), rung);
  }
  if (signal_ == 0) return;
  throw base::Error(static_cast<base::ExitCode>(128 + signal_),
                    fmt::format("stopped by signal {}; the same command goes on with {}", signal_,
                                folder_.path().string()));
}

void TrialQueue::fill_shares(std::size_t rung) {
  while (!waiting_.empty() && !free_shares_.empty()) {
    start(waiting_.front(), rung, free_shares_.front());
    waiting_.pop_front();
    free_shares_.pop_front();
  }
}

void TrialQueue::start(std::size_t trial, std::size_t rung, std::size_t share) {
  const SweepOptions& options = starts_.options;
  const Trial& what = sweep_.trials[trial];
  std::vector<std::string> command{starts_.program, "train"};
  const auto add = [&](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  add(recipe_arguments(options, what));
  add(options.launch_options);
  add(on_top_arguments(what, rung_settings(sweep_.rungs, rung, starts_.facts)));
  add({"--run-dir", folder_.run_of(what), "--resume", "auto"});
  const fs::path log = folder_.log_of(what);
  const Running running{.trial = trial, .share = share, .log_size = size_of(log)};
  const MachineShare& part = starts_.shares[share];
  const pid_t pid =
      children_.start({.command = std::move(command),
                       .environment = environment_of(part, options.num_jobs, options.num_ranks,
                                                     starts_.environment),
                       .output = log,
                       .errors = log,
                       .cores = options.num_jobs > 1 ? part.cores : std::vector<int>()});
  running_.emplace(pid, running);
}

void TrialQueue::take(const ChildNews& news, std::size_t rung) {
  if (news.end) {
    const auto ended = running_.find(news.end->pid);
    const Running running = ended->second;
    running_.erase(ended);
    free_shares_.push_front(running.share);
    end_trial(running, news.end->status, rung);
  } else if (news.signal != 0 && signal_ == 0) {
    ask_to_stop(news.signal);
  } else if (news.signal == SIGINT || Clock::now() >= kill_at_) {
    children_.kill_all();
    running_.clear();
  } else {
    say();
  }
}

void TrialQueue::end_trial(const Running& running, int status, std::size_t rung) {
  const int exit_code = launch::exit_code_of_status(status);
  if (exit_code != 0 && signal_ != 0) return;  // interrupted: it goes on another time
  TrialRecord& record = sweep_.records[running.trial];
  const Trial& trial = sweep_.trials[running.trial];
  const fs::path run = folder_.run_of(trial);
  if (exit_code != 0) {
    record.has_failed = true;
    record.exit_code = exit_code;
    record.error = error_of(folder_.log_of(trial), running.log_size, status);
  } else if (const auto outcome = outcome_of(run, starts_.facts.num_phases)) {
    if (!sweep_.goal) sweep_.goal = goal_of_run(run);
    take_outcome(*outcome, *sweep_.goal, record);
  } else {
    record.has_failed = true;
    record.exit_code = 0;
    record.error = "the run left no summary.json";
  }
  work_done_ += sweep_.rungs[rung].work;
  folder_.write(sweep_);
  if (!progress_.is_terminal()) say(trial_text(sweep_, running.trial));
  say();
}

void TrialQueue::ask_to_stop(int signal) {
  signal_ = signal;
  const double grace_seconds = starts_.options.grace_seconds.value_or(
      starts_.environment.get_seconds(launch::kGraceVariable, 0)
          .value_or(launch::kDefaultGraceSeconds));
  const auto grace = std::chrono::duration<double>(grace_seconds + kGraceToKillRanksSeconds);
  kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(grace);
  say(fmt::format("signal {}: {} running trials save and end", signal, running_.size()));
  children_.ask_to_stop();
}

void TrialQueue::say(const std::string& text) const {
  const std::chrono::duration<double> elapsed = Clock::now() - begin_;
  const std::string line =
      text.empty() ? progress_text(sweep_, {.num_running = static_cast<int>(running_.size()),
                                            .work_done = work_done_,
                                            .elapsed_s = elapsed.count()})
                   : text;
  progress_.say(progress_.is_terminal() ? cut_to_terminal(line) : line);
}

}  // namespace paceline::launcher
