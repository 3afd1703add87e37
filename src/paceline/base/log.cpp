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

constexpr std::size_t kMostRemembered = 1000;

// The process's standard error, what stands in for it, and the file beside it.
struct LogState {
  std::mutex mutex;
  std::shared_ptr<spdlog::sinks::sink> terminal = std::make_shared<spdlog::sinks::stderr_sink_st>();
  std::vector<const Target*> redirections;
  std::deque<std::string> remembered;  ///< for a file that comes later; each with its time
  std::unique_ptr<OutputFile> file;

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

/// Once it fails, the file is given up.
void write_to_file(LogState& state, const std::function<void()>& write) {
  try {
    write();
  } catch (const FileError& error) {
    state.file.reset();
    send(state, LogLevel::kWarning,
         fmt::format("warning: the log goes on without its file: {}", error.what()));
  }
}

}  // namespace

LogFile::LogFile(const std::filesystem::path& path) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  write_to_file(state, [&] {
    state.file = RealFileSystem().append(path);
    for (const std::string& line : std::exchange(state.remembered, {})) state.file->write(line);
  });
}

LogFile::~LogFile() {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  state.file.reset();
}

void LogFile::add_error(std::string_view text) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  if (state.file == nullptr) return;
  const std::string line = fmt::format("{}{}", label_of(LogLevel::kError), with_bare_urls(text));
  write_to_file(state, [&] { state.file->write(with_time(line)); });
}

void log_line(LogLevel level, std::string_view raw_text) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  const std::string line = fmt::format("{}{}", label_of(level), with_bare_urls(raw_text));
  send(state, level, line);
  if (state.file != nullptr) {
    write_to_file(state, [&] { state.file->write(with_time(line)); });
  } else {
    state.remembered.push_back(with_time(line));
    if (state.remembered.size() > kMostRemembered) state.remembered.pop_front();
  }
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
