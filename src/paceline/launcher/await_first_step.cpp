#include "paceline/launcher/await_first_step.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/progress_line.h"
#include "paceline/base/text.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/output_relay.h"
#include "paceline/launch/rank_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr int kProgressMilliseconds = 1000;
/// A rank's last lines and what the launcher says above them.
constexpr std::size_t kShownLines = launch::LastLines::kCapacity + 5;
constexpr off_t kMostShownBytes = 1 << 16;

/// Whether somebody reads it is no matter of the run's.
void tell(std::FILE* stream, const std::string& text) {
  std::fputs(text.c_str(), stream);
  std::fflush(stream);
}

class FirstStepWait {
 public:
  FirstStepWait(const BackgroundRun& run, const launch::SignalQueue& signals)
      : run_(run), signals_(signals), log_start_(lseek(run.log.get(), 0, SEEK_CUR)) {}
  int wait();

 private:
  void wait_for_events();
  /// One that ends the wait, if it has come.
  std::optional<int> take_signal();
  void read_words();
  void show_progress();

  bool is_on_record() const { return !words_.empty(); }
  bool trains() const { return words_.size() > static_cast<std::size_t>(run_.num_ranks); }
  std::string elapsed() const { return base::format_duration(clock_.monotonic_s() - start_s_); }
  std::string how_to_go_on() const;

  int tell_training();
  int tell_left(int signal);
  int tell_end(int status);
  int tell_failure(int status);
  void print_last_lines(std::FILE* stream) const;
  std::vector<std::string> last_lines(std::size_t most) const;

  const BackgroundRun& run_;
  const launch::SignalQueue& signals_;
  off_t log_start_;
  base::SystemClock clock_;
  double start_s_ = clock_.monotonic_s();
  launch::LineSplitter splitter_;
  std::vector<std::string> words_;
  std::optional<base::ProgressLine> progress_;
};

int FirstStepWait::wait() {
  while (true) {
    // Each before what it announces: SIGCHLD before the status, the end before the last words.
    const std::optional<int> signal = take_signal();
    const std::optional<int> status = launch::reap_child(run_.launcher, WNOHANG);
    read_words();
    if (is_on_record()) show_progress();
    if (status) return tell_end(*status);
    if (trains()) return tell_training();
    if (signal) return tell_left(*signal);
    wait_for_events();
  }
}

void FirstStepWait::wait_for_events() {
  std::array<pollfd, 2> events{{{signals_.descriptor(), POLLIN, 0}, {run_.words.get(), POLLIN, 0}}};
  const bool is_drawing = progress_ && progress_->is_terminal();
  poll(events.data(), events.size(), is_drawing ? kProgressMilliseconds : -1);
}

std::optional<int> FirstStepWait::take_signal() {
  std::optional<int> taken;
  while (const int signal = signals_.next())
    if (signal != SIGCHLD) taken = signal;
  return taken;
}

void FirstStepWait::read_words() {
  std::array<char, 4096> buffer;
  pollfd readable{run_.words.get(), POLLIN, 0};
  while (poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0) {
    const ssize_t size = read(run_.words.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    for (std::string& word : splitter_.add({buffer.data(), static_cast<std::size_t>(size)}))
      words_.push_back(std::move(word));
  }
}

void FirstStepWait::show_progress() {
  if (!progress_) {
    tell(stdout,
         fmt::format("paceline: started {} in the background, pid {}; waiting for its first step\n",
                     run_.run_dir.string(), run_.launcher));
    progress_.emplace();
  }
  if (!progress_->is_terminal()) return;
  const std::vector<std::string> lines = last_lines(1);
  progress_->say(fmt::format("{}  {}", elapsed(), lines.empty() ? "" : base::excerpt(lines[0])));
}

std::string FirstStepWait::how_to_go_on() const {
  return fmt::format(
      "  follow it:  paceline logs -f {0}\n"
      "  end it:     paceline stop {0}\n",
      run_.run_dir.string());
}

int FirstStepWait::tell_training() {
  progress_.reset();
  tell(stdout, fmt::format("paceline: {} began training (step {} after {})\n{}",
                           run_.run_dir.string(), words_.back(), elapsed(), how_to_go_on()));
  return 0;
}

int FirstStepWait::tell_left(int signal) {
  progress_.reset();
  tell(stderr, fmt::format("paceline: no longer waiting; {} goes on in the background\n{}",
                           run_.run_dir.string(), how_to_go_on()));
  return 128 + signal;
}

int FirstStepWait::tell_end(int status) {
  progress_.reset();
  if (launch::exit_code_of_status(status) != 0) return tell_failure(status);
  if (trains()) {
    tell(stdout, fmt::format("paceline: {} has trained from step {} to its end, in {}\n",
                             run_.run_dir.string(), words_.back(), elapsed()));
    return 0;
  }
  tell(stdout, fmt::format("paceline: {} has ended well after {}, without a step; the end of {}:\n",
                           run_.run_dir.string(), elapsed(), run_.log_path.string()));
  print_last_lines(stdout);
  return 0;
}

int FirstStepWait::tell_failure(int status) {
  const int code = launch::exit_code_of_status(status);
  // Before it is on record the launcher speaks on the terminal, if it can.
  if (!is_on_record() && !WIFSIGNALED(status)) return code;
  tell(stderr, fmt::format("paceline: {} ended {} its first step, after {}: {}; the end of {}:\n",
                           run_.run_dir.string(), trains() ? "right after" : "before", elapsed(),
                           launch::describe_status(status), run_.log_path.string()));
  print_last_lines(stderr);
  return code;
}

void FirstStepWait::print_last_lines(std::FILE* stream) const {
  const std::vector<std::string> lines = last_lines(kShownLines);
  if (!lines.empty()) return tell(stream, base::join(lines, "\n") + "\n");
  std::error_code error;
  const bool is_full = fs::space(run_.run_dir, error).available == 0 && !error;
  tell(stream, is_full ? "(nothing: the disk is full)\n" : "(nothing)\n");
}

std::vector<std::string> FirstStepWait::last_lines(std::size_t most) const {
  struct stat status {};
  if (fstat(run_.log.get(), &status) != 0 || status.st_size <= log_start_) return {};
  const off_t from = std::max(log_start_, status.st_size - kMostShownBytes);
  std::string text(static_cast<std::size_t>(status.st_size - from), '\0');
  const ssize_t size = pread(run_.log.get(), text.data(), text.size(), from);
  if (size < 0) return {fmt::format("(it cannot be read: {})", std::strerror(errno))};
  text.resize(static_cast<std::size_t>(size));
  std::vector<std::string> lines = base::split(base::trim(text), '\n');
  if (lines.size() > most)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  if (lines.size() == 1 && lines[0].empty()) lines.clear();
  return lines;
}

}  // namespace

int await_first_step(const BackgroundRun& run, const launch::SignalQueue& signals) {
  return FirstStepWait(run, signals).wait();
}

}  // namespace paceline::launcher
