#include "paceline/launch/output_relay.h"

#include "paceline/base/error.h"
#include "support/faulty_file_system.h"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineSplitterTest, JoinsPiecesToWholeLines) {
  LineSplitter splitter;
  EXPECT_THAT(splitter.add("one\ntw"), ElementsAre("one"));
  EXPECT_THAT(splitter.add("o"), IsEmpty());
  EXPECT_THAT(splitter.add("\n\nthree"), ElementsAre("two", ""));
  EXPECT_EQ(splitter.finish(), "three");
  EXPECT_EQ(splitter.finish(), "");
}

TEST(LineSplitterTest, CutsEndlessLines) {
  LineSplitter splitter;
  const auto lines = splitter.add(std::string(LineSplitter::kMaxLine + 5, 'x'));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), LineSplitter::kMaxLine);
  EXPECT_EQ(splitter.finish(), "xxxxx");
}

TEST(LastLinesTest, KeepsTheLastTwenty) {
  LastLines last;
  for (int number = 0; number < 30; ++number) last.add(std::to_string(number));
  EXPECT_EQ(last.lines().size(), 20u);
  EXPECT_EQ(last.lines().front(), "10");
}

class OutputSinkTest : public testing::Test {
 protected:
  OutputSinkTest() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    signal(SIGPIPE, SIG_IGN);
  }
  ~OutputSinkTest() override {
    for (const int end : ends_) close(end);
  }
  std::string read_some() {
    std::array<char, 65536> buffer;
    const ssize_t size = read(ends_[0], buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  std::array<int, 2> ends_{};
};

TEST_F(OutputSinkTest, WritesPrefixedLines) {
  OutputSink sink(ends_[1]);
  sink.write_line("[rank 3] ", "hello");
  EXPECT_FALSE(sink.has_pending());
  EXPECT_EQ(read_some(), "[rank 3] hello\n");
}

TEST_F(OutputSinkTest, AFullPipeDoesNotBlockAndLosesNothing) {
  OutputSink sink(ends_[1]);
  std::string expected;
  const std::string line(999, 'y');
  while (expected.size() < 2 * OutputSink::kHighWater) {
    sink.write_line("", line);
    expected += line + "\n";
  }
  EXPECT_TRUE(sink.has_pending());
  EXPECT_TRUE(sink.is_full());
  std::string got;
  while (got.size() < expected.size()) {
    got += read_some();
    sink.flush();
  }
  EXPECT_EQ(got, expected);
  EXPECT_FALSE(sink.has_pending());
}

TEST_F(OutputSinkTest, AReaderThatLeftEndsTheOutput) {
  OutputSink sink(ends_[1]);
  close(ends_[0]);
  sink.write_line("", "lost");
  EXPECT_TRUE(sink.is_closed());
  EXPECT_FALSE(sink.has_pending());
  ends_[0] = open("/dev/null", O_RDONLY);
}

TEST(RankLogTest, AppendsAndReportsAFullDiskOnce) {
  const base::TempDir folder;
  base::RealFileSystem files;
  {
    RankLog log(files, folder.path() / "rank_0000.log");
    log.write_line("first");
  }
  {
    RankLog log(files, folder.path() / "rank_0000.log");
    log.write_line("second");
  }
  EXPECT_EQ(base::read_file(folder.path() / "rank_0000.log"), "first\nsecond\n");
  EXPECT_THROW(RankLog(files, folder.path() / "absent/x.log"), base::FileError);
  test::FaultyFileSystem small;
  RankLog full(small, folder.path() / "full.log");
  small.fill_disk_after(0);
  EXPECT_THROW(full.write_line("lost"), base::FileError);
  EXPECT_NO_THROW(full.write_line("dropped"));
}

}  // namespace
}  // namespace paceline::launch
