#include "paceline/base/log.h"

#include "paceline/base/file.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Log, WritesPlainLinesToStandardError) {
  ::testing::internal::CaptureStderr();
  log_info("step {} of {}", 1, 2);
  log_info("{} is no format");
  log_warning("low");
  log_error("bad {}", "https://me:pass@host/x?key");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "step 1 of 2\n{} is no format\nwarning: low\nerror: bad https://host/x\n");
}

TEST(Log, TheFileGetsEveryLineWithItsTime) {
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "log.txt";
  const LogRedirection quiet([](LogLevel, std::string_view) {});
  log_info("before the file");
  {
    LogFile log(file);
    log_error("two\nlines of https://me:pass@host/x");
    log.add_error("told elsewhere");
  }
  log_info("between");
  { const LogFile log(file); }
  const std::string time = "....-..-..T..:..:..\\.... ";
  EXPECT_THAT(read_file(file),
              ::testing::MatchesRegex("(.*\n)?" + time + "before the file\n" + time +
                                      "error: two\n" + time + "lines of https://host/x\n" + time +
                                      "error: told elsewhere\n" + time + "between\n"));
}

TEST(Log, AFileThatCannotBeWrittenIsOneWarning) {
  const TempDir folder;
  std::vector<std::string> lines;
  const LogRedirection capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const std::filesystem::path link = folder.path() / "link";
  std::filesystem::create_symlink(folder.path() / "target", link);
  for (const std::filesystem::path& path : {folder.path() / "none/log.txt", link}) {
    lines.clear();
    LogFile log(path);
    log_info("a");
    log.add_error("b");
    log_info("c");
    EXPECT_THAT(lines, ElementsAre(HasSubstr("the log goes on without its file"), "a", "c"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "target"));

  lines.clear();
  const std::filesystem::path removed = folder.path() / "removed";
  const LogFile log(removed);
  std::filesystem::remove(removed);
  log_info("a");
  log_info("b");
  EXPECT_THAT(
      lines, ElementsAre("a", HasSubstr("it was removed"), "b", HasSubstr("can be written again")));
}

TEST(Log, LinesThatADiskRefusesComeWhenItTakesThem) {
  const TempDir folder;
  std::vector<std::string> lines;
  const LogRedirection capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const std::filesystem::path file = folder.path() / "disk/log.txt";
  {
    LogFile log(file);
    log_info("a");
    std::filesystem::create_directory(file.parent_path());
    log_info("b");
    EXPECT_THAT(lines, ElementsAre(HasSubstr("goes on without its file"), "a", "b",
                                   HasSubstr("can be written again")));
    EXPECT_THAT(read_file(file), ContainsRegex(" a\n.* b\n"));
  }
  lines.clear();
  const std::filesystem::path late = folder.path() / "late/log.txt";
  {
    LogFile log(late);
    for (int i = 0; i < 2000; ++i) log_info("{}.", i);
    std::filesystem::create_directory(late.parent_path());
  }
  const std::string text = read_file(late);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1000);
  EXPECT_THAT(text, AllOf(HasSubstr(" 1999.\n"), Not(HasSubstr(" 999.\n"))));
  EXPECT_THAT(lines.front(), HasSubstr("goes on without its file"));
  EXPECT_EQ(std::ranges::count(lines, lines.front()), 1) << "told once";
}

TEST(Log, TheNewestRedirectionTakesTheLines) {
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

TEST(Log, LinesOfManyThreadsStayWhole) {
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
