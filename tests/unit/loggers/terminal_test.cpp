#include "paceline/loggers/terminal.h"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TerminalStyle automatic(bool is_terminal, std::map<std::string, std::string> values) {
  return terminal_style(is_terminal, environment_of(std::move(values)), ProgressStyle::kAuto,
                        ColorChoice::kAuto);
}

TEST(TerminalStyle, BarOnlyOnARealTerminal) {
  EXPECT_TRUE(automatic(true, {{"TERM", "xterm"}}).has_bar);
  EXPECT_FALSE(automatic(false, {{"TERM", "xterm"}}).has_bar);
  EXPECT_FALSE(automatic(true, {{"TERM", "dumb"}}).has_bar);
  EXPECT_FALSE(automatic(true, {{"CI", "true"}}).has_bar);
  EXPECT_TRUE(automatic(true, {{"CI", ""}}).has_bar);
}

TEST(TerminalStyle, Color) {
  EXPECT_TRUE(automatic(true, {}).has_color);
  EXPECT_FALSE(automatic(false, {}).has_color);
  EXPECT_FALSE(automatic(true, {{"TERM", "dumb"}}).has_color);
  EXPECT_FALSE(automatic(true, {{"NO_COLOR", "1"}}).has_color);
  EXPECT_TRUE(automatic(true, {{"NO_COLOR", ""}}).has_color);
  EXPECT_TRUE(automatic(false, {{"FORCE_COLOR", "1"}}).has_color);
  EXPECT_TRUE(automatic(false, {{"CLICOLOR_FORCE", "1"}}).has_color);
  EXPECT_FALSE(automatic(false, {{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}}).has_color);
}

TEST(TerminalStyle, AChoiceWins) {
  const auto none = environment_of({{"NO_COLOR", "1"}, {"CI", "1"}});
  EXPECT_TRUE(terminal_style(false, none, ProgressStyle::kBar, ColorChoice::kAlways).has_bar);
  EXPECT_TRUE(terminal_style(false, none, ProgressStyle::kBar, ColorChoice::kAlways).has_color);
  EXPECT_FALSE(
      terminal_style(true, environment_of({}), ProgressStyle::kLines, ColorChoice::kNever).has_bar);
  EXPECT_FALSE(terminal_style(true, environment_of({}), ProgressStyle::kLines, ColorChoice::kNever)
                   .has_color);
}

TEST(TerminalWidth, FallsBackToColumnsThenEighty) {
  constexpr int kNoTerminal = -1;
  EXPECT_EQ(terminal_width(kNoTerminal, environment_of({{"COLUMNS", "132"}})), 132);
  EXPECT_EQ(terminal_width(kNoTerminal, environment_of({{"COLUMNS", "wide"}})), 80);
  EXPECT_EQ(terminal_width(kNoTerminal, environment_of({})), 80);
}

TEST(Clip, CountsCharactersNotBytes) {
  EXPECT_EQ(clip("abc", 2), "ab");
  EXPECT_EQ(clip("abc", 3), "abc");
  EXPECT_EQ(clip("█▌|x", 2), "█▌");
  EXPECT_EQ(clip("█▌", 0), "");
}

TEST(ClockText, Formats) {
  EXPECT_EQ(clock_text(0), "00:00");
  EXPECT_EQ(clock_text(59.4), "00:59");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(-1), "?");
  EXPECT_EQ(clock_text(std::nan("")), "?");
  EXPECT_EQ(clock_text(1e300), "?");
}

}  // namespace
}  // namespace paceline::loggers
