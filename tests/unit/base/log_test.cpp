#include "paceline/base/log.h"

#include "paceline/base/file.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

using ::testing::ElementsAre;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { configure_log({}); }
};

TEST_F(LogTest, WritesPlainLinesToStandardError) {
  ::testing::internal::CaptureStderr();
  log_info("step {} of {}", 1, 2);
  log_info("{} is no format");
  log_debug("not shown");
  log_warning("low");
  log_error("bad {}", "https://me:pass@host/x?key");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "step 1 of 2\n{} is no format\nwarning: low\nerror: bad https://host/x\n");
}

TEST_F(LogTest, PrefixColorAndLevelAreOptions) {
  configure_log({.lowest = LogLevel::kWarning, .prefix = "[rank 1] ", .has_color = true});
  ::testing::internal::CaptureStderr();
  log_info("hidden");
  log_warning("low");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[rank 1] \033[33mwarning: \033[0mlow\n");
}

TEST_F(LogTest, TheFileGetsEveryLineWithoutColor) {
  const TempDir folder;
  configure_log({.has_color = true, .file = folder.path() / "log.txt"});
  {
    const LogRedirection quiet([](LogLevel, std::string_view) {});
    log_error("bad");
  }
  const std::string text = read_file(folder.path() / "log.txt");
  EXPECT_THAT(text, ::testing::MatchesRegex("....-..-..T..:..:..\\.... error: bad\n"));
}

TEST_F(LogTest, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(configure_log({.file = "/proc/none/log.txt"}), FileError);
}

TEST_F(LogTest, TheNewestRedirectionTakesTheLines) {
  std::vector<std::string> outer_lines;
  std::vector<std::string> inner_lines;
  {
    const LogRedirection outer(
        [&](LogLevel, std::string_view line) { outer_lines.emplace_back(line); });
    {
      const LogRedirection inner([&](LogLevel level, std::string_view line) {
        EXPECT_EQ(level, LogLevel::kWarning);
        inner_lines.emplace_back(line);
      });
      log_warning("in");
    }
    log_info("out");
  }
  EXPECT_THAT(inner_lines, ElementsAre("warning: in"));
  EXPECT_THAT(outer_lines, ElementsAre("out"));
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  std::vector<std::string> lines;
  {
    const LogRedirection capture(
        [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int j = 0; j < 100; ++j) log_info("0123456789");
      });
    }
  }
  EXPECT_EQ(lines.size(), 400u);
  for (const std::string& line : lines) EXPECT_EQ(line, "0123456789");
}

}  // namespace
}  // namespace paceline::base
