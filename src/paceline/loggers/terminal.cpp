#include "paceline/loggers/terminal.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace paceline::loggers {

TerminalStyle terminal_style(bool is_terminal, const Environment& environment,
                             ProgressStyle progress, ColorChoice color) {
  const auto is_set = [&](const char* name) {
    const char* value = environment(name);
    return value != nullptr && *value != '\0';
  };
  const char* term = environment("TERM");
  const bool is_dumb = term != nullptr && std::strcmp(term, "dumb") == 0;

  TerminalStyle style;
  style.has_bar = progress == ProgressStyle::kBar ||
                  (progress == ProgressStyle::kAuto && is_terminal && !is_dumb && !is_set("CI"));
  const bool is_forced = is_set("FORCE_COLOR") || is_set("CLICOLOR_FORCE");
  style.has_color =
      color == ColorChoice::kAlways || (color == ColorChoice::kAuto && !is_set("NO_COLOR") &&
                                        (is_forced || (is_terminal && !is_dumb)));
  return style;
}

int terminal_width(int fd, const Environment& environment) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = 0;
  if (const char* text = environment("COLUMNS"); text != nullptr) {
    std::from_chars(text, text + std::strlen(text), columns);
  }
  return columns > 0 ? columns : 80;
}

std::string_view clip(std::string_view line, int columns) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins_character && columns-- == 0) return line.substr(0, i);
  }
  return line;
}

std::string clock_text(double seconds) {
  constexpr double kLongest = 1e9;
  if (!(seconds >= 0 && seconds < kLongest)) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{:02}:{:02}", minutes, whole % 60);
}

}  // namespace paceline::loggers
