#include "paceline/launch/supervisor.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/launch/error_file.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/signal_queue.h"
#include "paceline/launch/supervised_rank.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

using Clock = std::chrono::steady_clock;
using Stream = SupervisedRank::Stream;

constexpr std::size_t kReadPerTurn = std::size_t{256} * 1024;
/// Some wrappers (make, npm) pass on the terminal's SIGINT that the launcher has got as well.
constexpr std::chrono::milliseconds kSameKeyPress{200};

Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool is_same_file(int left, int right) {
  struct stat left_status {};
  struct stat right_status {};
  return fstat(left, &left_status) == 0 && fstat(right, &right_status) == 0 &&
         left_status.st_dev == right_status.st_dev && left_status.st_ino == right_status.st_ino;
}

class Supervisor {
 public:
  Supervisor(const LaunchPlan& plan, const SupervisorSettings& settings,
             const Environment& environment);
  ~Supervisor();
  int run();

 private:
  /// What an epoll event is about, packed into its 64 bits.
  enum class Source : std::uint32_t { kSignal, kProcess, kPipe, kSink };

  void prepare_error_files();
  void start_ranks();
  std::unique_ptr<SupervisedRank> start_rank(int local_rank);
  void watch(Source source, std::size_t index, int descriptor, std::uint32_t events);
  void unwatch(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

  void wait_for_events();
  void handle(const epoll_event& event);
  void handle_signal(int signal);
  void handle_line(SupervisedRank& rank, Stream stream, std::string_view line);
  void handle_end(SupervisedRank& rank);
  void handle_deadlines();
  void balance_output();

  void pause_with_ranks();
  void stop_others();
  void kill_rest();
  bool any_alive() const;
  bool has_pending_output() const;
  int timeout_milliseconds() const;
  OutputSink& sink(Stream stream) { return sinks_[stream < sinks_.size() ? stream : 0]; }
  void say(const std::string& line) {
    sink(SupervisedRank::kStderr).write_line("paceline: ", line);
  }
  /// Whether rank 0 has told of a wrong recipe, which ends every rank, in the newest words of all.
  bool is_told_by_first_rank(const RankEnd& culprit) const;
  void report(const RankEnd& end);
  /// Why a rank failed, by its own last words; those that it wrote to the terminal are far up.
  void show_cause(SupervisedRank& rank);

  const LaunchPlan& plan_;
  const SupervisorSettings& settings_;
  const Environment& environment_;
  base::RealFileSystem files_;
  std::optional<base::TempDir> scratch_;  ///< without a log_dir
  std::optional<std::filesystem::path> error_dir_;
  SignalQueue signals_;
  Descriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
  std::vector<OutputSink>
      sinks_;  ///< one if stdout and stderr are the same file, to keep lines whole
  std::vector<bool> is_sink_watched_;
  std::vector<std::unique_ptr<SupervisedRank>> ranks_;
  SupervisedRank::LineHandler line_handler_;
  std::vector<RankEnd> ends_;  ///< in order of time
  int last_writer_ = 0;        ///< the rank that wrote last, of those that are captured
  bool is_reading_paused_ = false;
  bool is_output_abandoned_ = false;
  bool is_killing_ = false;
  std::optional<int> forwarded_signal_;
  std::vector<int> stop_signals_;  ///< that and SIGUSR1 or SIGUSR2 in a Slurm job, in order
  Clock::time_point forwarded_at_;
  std::optional<Clock::time_point> first_failure_deadline_;
  std::optional<Clock::time_point> kill_deadline_;
};

Supervisor::Supervisor(const LaunchPlan& plan, const SupervisorSettings& settings,
                       const Environment& environment)
    : plan_(plan), settings_(settings), environment_(environment) {
  sinks_.emplace_back(STDOUT_FILENO);
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) sinks_.emplace_back(STDERR_FILENO);
  is_sink_watched_.assign(sinks_.size(), false);
  line_handler_ = [this](SupervisedRank& rank, Stream stream, std::string_view line) {
    handle_line(rank, stream, line);
  };
  watch(Source::kSignal, 0, signals_.descriptor(), EPOLLIN);
  prepare_error_files();
}

void Supervisor::prepare_error_files() {
  error_dir_ = settings_.log_dir;
  try {
    if (!error_dir_) error_dir_ = scratch_.emplace("paceline-launch").path();
    for (int rank = plan_.first_rank(); rank < plan_.first_rank() + plan_.nproc; ++rank)
      files_.remove_all(error_file(*error_dir_, rank));  // of an earlier start
  } catch (const std::exception& error) {                // no temporary folder, or no room in it
    say(fmt::format("{}; ranks that fail are told by their output alone", error.what()));
    error_dir_.reset();
  }
}

/// Reached with living ranks only if an exception ends the launcher.
Supervisor::~Supervisor() {
  for (const auto& rank : ranks_) rank->signal_group(SIGKILL);
}

void Supervisor::start_ranks() {
  for (int local_rank = 0; local_rank < plan_.nproc; ++local_rank) {
    ranks_.push_back(start_rank(local_rank));
    const std::size_t index = ranks_.size() - 1;
    watch(Source::kProcess, index, ranks_[index]->process_descriptor(), EPOLLIN);
    for (const Stream stream : {SupervisedRank::kStdout, SupervisedRank::kStderr})
      if (const int pipe = ranks_[index]->pipe(stream); pipe >= 0)
        watch(Source::kPipe, 2 * index + stream, pipe, EPOLLIN);
  }
}

std::unique_ptr<SupervisedRank> Supervisor::start_rank(int local_rank) {
  const int rank = plan_.first_rank() + local_rank;
  std::unique_ptr<RankLog> log;
  if (settings_.log_dir)
    log = std::make_unique<RankLog>(files_, *settings_.log_dir / (rank_file_stem(rank) + ".log"));
  const bool may_inherit = rank == 0 && settings_.rank_zero_keeps_terminal;
  RankStart start;
  start.command = settings_.command;
  start.environment =
      rank_environment(plan_, local_rank, settings_.master_port, error_dir_, environment_);
  start.signal_mask = signals_.previous_mask();
  return std::make_unique<SupervisedRank>(rank, std::move(start),
                                          std::array{may_inherit && isatty(STDOUT_FILENO) == 1,
                                                     may_inherit && isatty(STDERR_FILENO) == 1},
                                          std::move(log));
}

void Supervisor::watch(Source source, std::size_t index, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | index;
  // Regular files are always ready and refuse (EPERM); they never have output waiting.
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

int Supervisor::run() {
  start_ranks();
  while (any_alive() || (has_pending_output() && !is_output_abandoned_)) wait_for_events();
  // Helpers that outlive a rank may hold its pipe open for ever; what is there now is all we take.
  for (const auto& rank : ranks_) rank->read_rest(line_handler_);
  const Outcome outcome = decide_outcome(ends_, stop_signals_);
  if (outcome.culprit) report(ends_[*outcome.culprit]);
  while (has_pending_output() && !is_output_abandoned_) wait_for_events();
  return outcome.exit_code;
}

void Supervisor::wait_for_events() {
  balance_output();
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               timeout_milliseconds());
  // epoll hands events over in the order in which they came, so the first rank to die comes first.
  for (int index = 0; index < count; ++index) handle(events[static_cast<std::size_t>(index)]);
  handle_deadlines();
}

void Supervisor::handle(const epoll_event& event) {
  const auto index = static_cast<std::size_t>(event.data.u64 & 0xFFFFFFFFu);
  switch (static_cast<Source>(event.data.u64 >> 32)) {
    case Source::kSignal:
      while (const int signal = signals_.next()) handle_signal(signal);
      return;
    case Source::kProcess:  // comes again while a rank that starts holds a copy of the descriptor
      if (ranks_[index]->is_alive()) handle_end(*ranks_[index]);
      return;
    case Source::kPipe:
      ranks_[index / 2]->read(static_cast<Stream>(index % 2), kReadPerTurn, line_handler_);
      return;
    case Source::kSink:
      sinks_[index].flush();
      return;
  }
}

void Supervisor::handle_signal(int signal) {
  if (signal == SIGTSTP) return pause_with_ranks();
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    for (const auto& rank : ranks_) rank->signal_process(signal);
    if (environment_.has("SLURM_JOB_ID")) stop_signals_.push_back(signal);
    return;
  }
  if (!any_alive()) {
    is_output_abandoned_ = true;  // only a blocked reader keeps us here
    return;
  }
  if (forwarded_signal_) {
    if (signal == SIGINT && Clock::now() - forwarded_at_ > kSameKeyPress) {
      say("interrupted again: killing all ranks");
      kill_rest();
    }
    return;
  }
  forwarded_signal_ = signal;
  forwarded_at_ = Clock::now();
  stop_signals_.push_back(signal);
  if (!kill_deadline_) kill_deadline_ = in_seconds(plan_.grace_seconds);
  for (const auto& rank : ranks_) {
    // A terminal's Ctrl-C would reach a rank's helpers too; other signals are for the rank alone.
    if (signal == SIGINT) {
      rank->signal_group(signal);
    } else {
      rank->signal_process(signal);
    }
  }
}

/// Ctrl-Z: the ranks are in groups of their own, so they are stopped and continued by hand.
void Supervisor::pause_with_ranks() {
  for (const auto& rank : ranks_) rank->signal_group(SIGSTOP);
  raise(SIGSTOP);
  for (const auto& rank : ranks_) rank->signal_group(SIGCONT);
}

void Supervisor::handle_line(SupervisedRank& rank, Stream stream, std::string_view line) {
  last_writer_ = rank.rank();
  const bool is_result =
      settings_.rank_zero_prints_result && rank.rank() == 0 && stream == SupervisedRank::kStdout;
  const std::string prefix =
      plan_.world_size() > 1 && !is_result ? fmt::format("[rank {}] ", rank.rank()) : "";
  sink(stream).write_line(prefix, line);
  if (rank.log() == nullptr) return;
  try {
    rank.log()->write_line(line);
  } catch (const base::FileError& error) {
    say(fmt::format("{}; rank {} goes on without its log file", error.what(), rank.rank()));
  }
}

void Supervisor::handle_end(SupervisedRank& rank) {
  const int status = rank.reap();
  rank.read_rest(line_handler_);
  ends_.push_back({rank.rank(), rank.pid(), status, rank.is_told_to_stop(), is_killing_});
  if (!any_alive()) return;
  if (status == 0 || first_failure_deadline_ || kill_deadline_) return;
  const int code = exit_code_of_status(status);
  if (std::ranges::count(stop_signals_, code - 128) != 0) {
    kill_deadline_ = in_seconds(plan_.grace_seconds);
  } else {
    first_failure_deadline_ = in_seconds(settings_.first_failure_window_seconds);
  }
}

void Supervisor::handle_deadlines() {
  const auto now = Clock::now();
  if (first_failure_deadline_ && now >= *first_failure_deadline_) {
    first_failure_deadline_.reset();
    stop_others();
  }
  if (kill_deadline_ && now >= *kill_deadline_ && !is_killing_ && any_alive()) {
    say("ranks that have not stopped in time are killed");
    kill_rest();
  }
}

void Supervisor::stop_others() {
  if (!any_alive()) return;
  const Outcome outcome = decide_outcome(ends_, stop_signals_);
  if (outcome.culprit && !is_told_by_first_rank(ends_[*outcome.culprit]))
    say(fmt::format("rank {} failed ({}); stopping the others", ends_[*outcome.culprit].rank,
                    describe_status(ends_[*outcome.culprit].status)));
  for (const auto& rank : ranks_) rank->tell_to_stop(settings_.grace_after_failure_seconds);
  if (!kill_deadline_) kill_deadline_ = in_seconds(settings_.grace_after_failure_seconds);
}

void Supervisor::kill_rest() {
  is_killing_ = true;
  for (const auto& rank : ranks_) rank->signal_group(SIGKILL);
}

bool Supervisor::any_alive() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank->is_alive(); });
}

bool Supervisor::has_pending_output() const {
  return std::any_of(sinks_.begin(), sinks_.end(),
                     [](const OutputSink& sink) { return sink.has_pending(); });
}

int Supervisor::timeout_milliseconds() const {
  if (!any_alive()) return -1;
  std::optional<Clock::time_point> next = first_failure_deadline_;
  if (kill_deadline_ && !is_killing_ && (!next || *kill_deadline_ < *next)) next = kill_deadline_;
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 3'600'000));
}

/// Waits for sinks that have output left, and reads no more from the ranks while one is full.
void Supervisor::balance_output() {
  bool is_full = false;
  for (std::size_t index = 0; index < sinks_.size(); ++index) {
    OutputSink& sink = sinks_[index];
    is_full |= sink.is_full();
    if (sink.has_pending() == is_sink_watched_[index]) continue;
    is_sink_watched_[index] = sink.has_pending();
    if (sink.has_pending()) {
      watch(Source::kSink, index, sink.descriptor(), EPOLLOUT);
    } else {
      unwatch(sink.descriptor());
    }
  }
  if (is_full == is_reading_paused_) return;
  is_reading_paused_ = is_full;
  for (std::size_t index = 0; index < 2 * ranks_.size(); ++index) {
    const int pipe = ranks_[index / 2]->pipe(static_cast<Stream>(index % 2));
    if (pipe < 0) continue;
    if (is_full) {
      unwatch(pipe);
    } else {
      watch(Source::kPipe, index, pipe, EPOLLIN);
    }
  }
}

bool Supervisor::is_told_by_first_rank(const RankEnd& culprit) const {
  const auto is_config_error = [](const RankEnd& end) {
    return exit_code_of_status(end.status) == static_cast<int>(base::ExitCode::kConfig);
  };
  return last_writer_ == 0 && is_config_error(culprit) &&
         std::ranges::any_of(
             ends_, [&](const RankEnd& end) { return end.rank == 0 && is_config_error(end); });
}

void Supervisor::report(const RankEnd& end) {
  SupervisedRank& rank = *ranks_[static_cast<std::size_t>(end.rank - plan_.first_rank())];
  const bool is_signal = exit_code_of_status(end.status) > 128;
  const bool is_alone = plan_.world_size() == 1;
  if (is_alone && !is_signal) return;  // its own words stand right above
  if (is_told_by_first_rank(end)) return;
  say(fmt::format("rank {} failed first: {}, pid {}", end.rank, describe_status(end.status),
                  end.pid));
  if (exit_code_of_status(end.status) == 128 + SIGKILL)
    say("SIGKILL often comes from the kernel when memory runs out; `dmesg` tells");
  if (is_alone) return;
  if (rank.log() != nullptr) say("all of its output: " + rank.log()->path().string());
  show_cause(rank);
}

void Supervisor::show_cause(SupervisedRank& rank) {
  std::vector<std::string> lines;
  if (const auto message =
          error_dir_ ? read_error_file(error_file(*error_dir_, rank.rank())) : std::nullopt) {
    lines = base::split(*message, '\n');
    say("its words:");
  } else if (rank.is_captured()) {
    lines = {rank.last_lines().lines().begin(), rank.last_lines().lines().end()};
    say(lines.empty() ? "it had written nothing" : fmt::format("its last {} lines:", lines.size()));
  }
  for (const std::string& line : lines) sink(SupervisedRank::kStderr).write_line("  | ", line);
}

}  // namespace

int supervise(const LaunchPlan& plan, const SupervisorSettings& settings,
              const Environment& environment) {
  return Supervisor(plan, settings, environment).run();
}

}  // namespace paceline::launch
