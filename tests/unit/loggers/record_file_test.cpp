#include "paceline/loggers/record_file.h"

#include "paceline/base/log.h"
#include "support/faulty_file_system.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

using std::chrono_literals::operator""ms;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Failures = std::vector<std::pair<std::string, double>>;

class RecordFileTest : public ::testing::Test {
 protected:
  RecordFile make(RecordFileOptions options = {.retry_after = 0ms}) {
    return RecordFile(
        "test", [this] { return files_.append(path_); }, options);
  }
  std::string text() const { return base::read_file(path_); }

  base::TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "log";
  test::FaultyFileSystem files_;
  std::vector<std::string> log_;
  base::LogRedirection redirection_{
      [this](base::LogLevel, std::string_view line) { log_.emplace_back(line); }};
};

TEST_F(RecordFileTest, WritesWhatWasAdded) {
  RecordFile file = make();
  file.write_out();
  EXPECT_FALSE(std::filesystem::exists(path_));
  file.add("one\n");
  file.add("two\n");
  EXPECT_FALSE(std::filesystem::exists(path_));
  file.write_out();
  EXPECT_EQ(text(), "one\ntwo\n");
  file.add("three\n");
  file.sync();
  EXPECT_EQ(text(), "one\ntwo\nthree\n");
  EXPECT_EQ(file.failures(), Failures());
  EXPECT_TRUE(log_.empty());
}

TEST_F(RecordFileTest, KeepsWhatADiskRefusesAndTellsItOnce) {
  RecordFile file = make();
  file.add("one\n");
  file.write_out();
  files_.fill_disk_after(2);
  for (const char* record : {"two\n", "three\n", "four\n"}) {
    file.add(record);
    file.write_out();
    file.sync();
  }
  EXPECT_EQ(text(), "one\n");
  EXPECT_EQ(file.failures(), (Failures{{"failed_writes", 6}, {"lost_records", 3}}));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the test logger cannot write")));
  files_.free_disk();
  file.write_out();
  EXPECT_EQ(text(), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(file.failures(), (Failures{{"failed_writes", 6}, {"lost_records", 0}}));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("cannot write"), HasSubstr("can write again")));
}

TEST_F(RecordFileTest, SparesADiskThatFailedAMomentAgo) {
  RecordFile file = make({.retry_after = std::chrono::hours(1)});
  int num_tries = 0;
  files_.set_fault([&](std::string_view operation, const auto&) {
    if (operation == "append") ++num_tries;
    return EROFS;
  });
  for (int i = 0; i < 5; ++i) {
    file.add("x\n");
    file.write_out();
  }
  EXPECT_EQ(num_tries, 1);
  file.sync();  // whoever asks for it wants to know
  EXPECT_EQ(num_tries, 2);
}

TEST_F(RecordFileTest, MakesAFileThatWasRemovedAnew) {
  RecordFile file = make();
  file.add("one\n");
  file.write_out();
  std::filesystem::remove(path_);
  file.add("two\n");
  file.write_out();
  file.add("three\n");
  file.write_out();
  EXPECT_EQ(text(), "two\nthree\n");
  EXPECT_EQ(file.failures(), (Failures{{"failed_writes", 1}, {"lost_records", 0}}));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("it was removed"), HasSubstr("can write again")));
}

TEST_F(RecordFileTest, ADiskThatCannotSyncIsAFailure) {
  RecordFile file = make();
  files_.set_fault(
      [](std::string_view operation, const auto&) { return operation == "sync" ? EIO : 0; });
  file.add("one\n");
  file.sync();
  EXPECT_EQ(file.failures(), (Failures{{"failed_writes", 1}, {"lost_records", 0}}));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("cannot write")));
}

TEST_F(RecordFileTest, ForgetsTheOldestWhenTooMuchWaits) {
  RecordFile file = make({.retry_after = 0ms, .most_waiting_bytes = 10});
  files_.fill_disk_after(0);
  for (const char* record : {"12345\n", "789\n", "abc\n"}) {
    file.add(record);
    file.write_out();
  }
  files_.free_disk();
  file.sync();
  EXPECT_EQ(text(), "abc\n");
  EXPECT_EQ(file.failures()[1], (std::pair<std::string, double>("lost_records", 2)));
}

}  // namespace
}  // namespace paceline::loggers
