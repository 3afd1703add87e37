#include "paceline/base/log.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace paceline::base {
namespace {

using Target = std::function<void(LogLevel, std::string_view)>;

constexpr std::size_t kMostWaiting = 1000;

// The process's standard error, what stands in for it, and the file beside it.
struct LogState {
  std::mutex mutex;
  std::shared_ptr<spdlog::sinks::sink> terminal = std::make_shared<spdlog::sinks::stderr_sink_st>();
  std::vector<const Target*> redirections;
  std::deque<std::string> waiting;  ///< for the file, also for one that comes later; with times
  std::filesystem::path path;       ///< of the file; empty: there is none
  std::unique_ptr<OutputFile> file;
  bool is_failing = false;

  LogState() { terminal->set_pattern("%v"); }
};

// Never destroyed, so that destructors of static objects may log.
LogState& log_state() {
  static auto* const state = new LogState;
  return *state;
}

std::string_view label_of(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

void send(LogState& state, LogLevel level, const std::string& line) {
  if (!state.redirections.empty()) {
    (*state.redirections.back())(level, line);
    return;
  }
  state.terminal->log(spdlog::details::log_msg("paceline", spdlog::level::info, line));
  state.terminal->flush();
}

/// "2026-01-31T12:00:00.123 line", each line of several with its own time.
std::string with_time(std::string_view text) {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm local{};
  localtime_r(&now.tv_sec, &local);
  std::array<char, 32> seconds{};
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &local);
  const std::string time = fmt::format("{}.{:03}", seconds.data(), now.tv_nsec / 1'000'000);
  std::string lines;
  for (const std::string& line : split(text, '\n')) lines += fmt::format("{} {}\n", time, line);
  return lines;
}

/// Gives the file what waits for it. What it refuses waits on.
void write_to_file(LogState& state) {
  try {
    if (state.file == nullptr) state.file = RealFileSystem().append(state.path);
    for (; !state.waiting.empty(); state.waiting.pop_front()) {
      state.file->write(state.waiting.front());
    }
  } catch (const FileError& error) {
    state.file.reset();
    if (std::exchange(state.is_failing, true)) return;
    send(state, LogLevel::kWarning,
         fmt::format("warning: the log goes on without its file, which is tried again: {}",
                     error.what()));
    return;
  }
  if (std::exchange(state.is_failing, false)) {
    send(state, LogLevel::kWarning, "warning: the log's file can be written again");
  }
}

void add_to_file(LogState& state, std::string_view text) {
  state.waiting.push_back(with_time(text));
  if (state.waiting.size() > kMostWaiting) state.waiting.pop_front();
  if (state.path.empty()) return;
  write_to_file(state);
}

}  // namespace

LogFile::LogFile(const std::filesystem::path& path) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  state.path = path;
  write_to_file(state);
}

LogFile::~LogFile() {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  if (!state.waiting.empty()) write_to_file(state);
  state.waiting.clear();
  state.path.clear();
  state.file.reset();
  state.is_failing = false;
}

void LogFile::add_error(std::string_view text) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  add_to_file(state, fmt::format("{}{}", label_of(LogLevel::kError), with_bare_urls(text)));
}

void log_line(LogLevel level, std::string_view raw_text) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  const std::string line = fmt::format("{}{}", label_of(level), with_bare_urls(raw_text));
  send(state, level, line);
  add_to_file(state, line);
}

struct LogRedirection::Impl {
  Target target;
};

LogRedirection::LogRedirection(Target target)
    : impl_(std::make_unique<Impl>(Impl{std::move(target)})) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  state.redirections.push_back(&impl_->target);
}

LogRedirection::~LogRedirection() {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  std::erase(state.redirections, &impl_->target);
}

}  // namespace paceline::base
