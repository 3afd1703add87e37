#pragma once

#include "paceline/config/schema.h"

#include <functional>
#include <string>
#include <string_view>

namespace paceline::loggers {

/// What the console draws: a bar that moves, lines now and then, or nothing but events.
enum class ProgressStyle { kAuto, kBar, kLines, kOff };
enum class ColorChoice { kAuto, kAlways, kNever };

/// What a stream can show.
struct TerminalStyle {
  bool has_bar = false;
  bool has_color = false;
};

/// Returns the value of an environment variable, or nullptr.
using Environment = std::function<const char*(const char*)>;

/// A bar needs a terminal, TERM other than "dumb" and no CI. Colour needs a terminal or FORCE_COLOR
/// or CLICOLOR_FORCE, and no NO_COLOR (no-color.org: set and not empty); a choice other than kAuto
/// wins.
TerminalStyle terminal_style(bool is_terminal, const Environment& environment,
                             ProgressStyle progress, ColorChoice color);

/// Columns of the terminal behind `fd`: as it says, else COLUMNS, else 80.
int terminal_width(int fd, const Environment& environment);

/// Cuts a line of UTF-8 text without colour codes to `columns` characters.
std::string_view clip(std::string_view line, int columns);

/// "1:02:03", "02:03"; "?" for what is not a sensible number of seconds.
std::string clock_text(double seconds);

}  // namespace paceline::loggers

template <>
struct paceline::config::EnumNames<paceline::loggers::ProgressStyle> {
  using Style = loggers::ProgressStyle;
  static constexpr std::array names{EnumName{Style::kAuto, "auto"}, EnumName{Style::kBar, "bar"},
                                    EnumName{Style::kLines, "lines"}, EnumName{Style::kOff, "off"}};
};

template <>
struct paceline::config::EnumNames<paceline::loggers::ColorChoice> {
  using Choice = loggers::ColorChoice;
  static constexpr std::array names{EnumName{Choice::kAuto, "auto"},
                                    EnumName{Choice::kAlways, "always"},
                                    EnumName{Choice::kNever, "never"}};
};
