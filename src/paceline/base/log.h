#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace paceline::base {

enum class LogLevel { kInfo, kWarning, kError };

/// Lines for people, one at a time, on standard error: "warning: text". Of URLs they show neither
/// passwords nor queries (with_bare_urls()). The one process-wide object of paceline, since there
/// is one standard error; thread-safe.
void log_line(LogLevel level, std::string_view text);

inline void log_info(std::string_view text) { log_line(LogLevel::kInfo, text); }
inline void log_warning(std::string_view text) { log_line(LogLevel::kWarning, text); }
inline void log_error(std::string_view text) { log_line(LogLevel::kError, text); }

template <class First, class... Rest>
void log_info(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  log_line(LogLevel::kInfo,
           fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <class First, class... Rest>
void log_warning(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  log_line(LogLevel::kWarning,
           fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <class First, class... Rest>
void log_error(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  log_line(LogLevel::kError,
           fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}

/// While it lives, every line also goes to the end of a file, with its time, and so do the last
/// thousand of this process before it. A file that cannot be written costs one warning, never the
/// run: as many lines are kept and tried again, with every later one and at the end. One at a time.
class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// For the file alone: what ends the run is told on the terminal when this object is gone.
  void add_error(std::string_view text);
};

/// While it lives, lines go to a function instead of standard error: to a progress bar that must
/// step aside, or to a test. The function gets the whole line, without its newline, from any thread
/// but one at a time; it must not log. The last one made is the one that counts.
class LogRedirection {
 public:
  explicit LogRedirection(std::function<void(LogLevel level, std::string_view line)> target);
  ~LogRedirection();
  LogRedirection(const LogRedirection&) = delete;
  LogRedirection& operator=(const LogRedirection&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline::base
