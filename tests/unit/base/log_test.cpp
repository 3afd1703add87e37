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
  ~LogTest() override { set_log_file({}); }
};

TEST_F(LogTest, WritesPlainLinesToStandardError) {
  ::testing::internal::CaptureStderr();
  log_info("step {} of {}", 1, 2);
  log_info("{} is no format");
  log_warning("low");
  log_error("bad {}", "https://me:pass@host/x?key");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "step 1 of 2\n{} is no format\nwarning: low\nerror: bad https://host/x\n");
}

TEST_F(LogTest, TheFileGetsEveryLineWithItsTime) {
  const TempDir folder;
  const std::filesystem::path file = folder.path() / "log.txt";
  {
    const LogRedirection quiet([](LogLevel, std::string_view) {});
    log_info("before the file");
    set_log_file(file);
    log_error("two\nlines");
    set_log_file({});
    log_info("between");
    set_log_file(file);
  }
  const std::string time = "....-..-..T..:..:..\\.... ";
  EXPECT_THAT(read_file(file),
              ::testing::MatchesRegex("(.*\n)?" + time + "before the file\n" + time +
                                      "error: two\n" + time + "lines\n" + time + "between\n"));
}

TEST_F(LogTest, AFileThatCannotBeWrittenIsOneWarning) {
  const TempDir folder;
  std::vector<std::string> lines;
  const LogRedirection capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto use = [&](const std::filesystem::path& path) {
    set_log_file(path);
    log_info("a");
    log_info("b");
  };
  const std::filesystem::path link = folder.path() / "link";
  std::filesystem::create_symlink(folder.path() / "target", link);
  for (const std::filesystem::path& path : {folder.path() / "none/log.txt", link}) {
    lines.clear();
    use(path);
    EXPECT_THAT(lines,
                ElementsAre(::testing::HasSubstr("the log goes on without its file"), "a", "b"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "target"));

  lines.clear();
  const std::filesystem::path removed = folder.path() / "removed";
  set_log_file(removed);
  std::filesystem::remove(removed);
  log_info("a");
  log_info("b");
  EXPECT_THAT(lines, ElementsAre("a", ::testing::HasSubstr("it was removed"), "b"));
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
