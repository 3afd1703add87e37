#include "paceline/base/log.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace paceline::base {
namespace {

using Target = std::function<void(LogLevel, std::string_view)>;

// The process's standard error and what stands in for it.
struct LogState {
  std::mutex mutex;
  LogOptions options;
  std::shared_ptr<spdlog::sinks::sink> terminal = std::make_shared<spdlog::sinks::stderr_sink_st>();
  std::shared_ptr<spdlog::sinks::sink> file;
  std::vector<const Target*> redirections;

  LogState() { terminal->set_pattern("%v"); }
};

// Never destroyed, so that destructors of static objects may log.
LogState& log_state() {
  static auto* const state = new LogState;
  return *state;
}

std::string_view label_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

std::string colored_label(LogLevel level) {
  const std::string_view label = label_of(level);
  if (level == LogLevel::kWarning) return fmt::format("\033[33m{}\033[0m", label);
  if (level == LogLevel::kError) return fmt::format("\033[31m{}\033[0m", label);
  return std::string(label);
}

void send(spdlog::sinks::sink& sink, const std::string& line) {
  sink.log(spdlog::details::log_msg("paceline", spdlog::level::info, line));
  sink.flush();
}

}  // namespace

void configure_log(const LogOptions& options) {
  std::shared_ptr<spdlog::sinks::sink> file;
  if (!options.file.empty()) {
    try {
      file = std::make_shared<spdlog::sinks::basic_file_sink_st>(options.file.string());
    } catch (const spdlog::spdlog_ex&) {
      throw FileError("write", options.file, errno);
    }
    file->set_pattern("%Y-%m-%dT%H:%M:%S.%e %v");
  }
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  state.options = options;
  state.file = std::move(file);
}

void log_line(LogLevel level, std::string_view raw_text) {
  LogState& state = log_state();
  const std::lock_guard lock(state.mutex);
  if (level < state.options.lowest) return;
  const std::string text = with_bare_urls(raw_text);
  const std::string plain = fmt::format("{}{}{}", state.options.prefix, label_of(level), text);
  if (state.file != nullptr) send(*state.file, plain);
  if (!state.redirections.empty()) {
    (*state.redirections.back())(level, plain);
  } else if (state.options.has_color) {
    send(*state.terminal, fmt::format("{}{}{}", state.options.prefix, colored_label(level), text));
  } else {
    send(*state.terminal, plain);
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
