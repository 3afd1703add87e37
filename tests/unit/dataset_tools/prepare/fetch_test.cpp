#include "paceline/dataset_tools/prepare/fetch.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"
#include "unit/dataset_tools/prepare/md5_of.h"

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kReadBytes = 8192;
const std::string kPath = "s3://bucket/file";

/// Two and a half reads, every byte's place matters.
std::string large_content() {
  std::string content(20'003, ' ');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 2654435761u >> 24);
  return content;
}

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    storage_->files[kPath] = large_content();
    options_.read_bytes = kReadBytes;
    options_.say = [this](const std::string& what) {
      const std::lock_guard lock(mutex_);
      said_.push_back(what);
    };
  }

  void run() { fetch(*storage_, kPath, md5_, target_, options_, files_); }
  std::string failure() {
    try {
      run();
    } catch (const base::Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  void expect_complete() {
    EXPECT_TRUE(base::read_file(target_) == storage_->files[kPath]);
    EXPECT_FALSE(fs::exists(part_));
  }

  const test::TempFolder folder_;
  const fs::path target_ = folder_.path() / "downloads" / "file";
  const fs::path part_ = folder_.path() / "downloads" / "file.part";
  const std::shared_ptr<test::FakeStorage> storage_ = std::make_shared<test::FakeStorage>();
  std::string md5_ = md5_of(large_content());
  FetchOptions options_;
  test::FaultyFileSystem files_;
  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(FetchTest, BringsAFileAndTellsHowFarItIs) {
  for (const int connections : {1, 2, 8}) {
    fs::remove(target_);
    options_.connections = connections;
    std::vector<std::uint64_t> told;
    fetch(*storage_, kPath, md5_, target_, options_, files_,
          [&](std::uint64_t done, std::uint64_t total) {
            told.push_back(done);
            EXPECT_EQ(total, storage_->files[kPath].size());
          });
    EXPECT_EQ(told.front(), 0u);
    EXPECT_EQ(told.back(), storage_->files[kPath].size());
    EXPECT_TRUE(std::ranges::is_sorted(told));
    expect_complete();
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(FetchTest, LeavesACompleteFileAlone) {
  run();
  const int reads = storage_->num_reads;
  run();
  EXPECT_EQ(storage_->num_reads, reads);
}

TEST_F(FetchTest, GoesOnWhereItWas) {
  options_.connections = 1;
  storage_->disturb = [](const std::string& path, std::uint64_t offset, auto) {
    if (offset >= 2 * kReadBytes) throw base::DataError(path + ": connection reset");
  };
  EXPECT_THAT(failure(), HasSubstr("connection reset; what has come is kept"));
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_EQ(fs::file_size(part_), 2 * kReadBytes);
  int reads = 0;
  storage_->disturb = [&](const std::string&, std::uint64_t offset, auto) {
    ++reads;
    EXPECT_GE(offset, 2 * kReadBytes);
  };
  run();
  EXPECT_EQ(reads, 1);
  expect_complete();
}

TEST_F(FetchTest, EndsWithTheFirstReadThatFails) {
  storage_->disturb = [](const std::string& path, std::uint64_t offset, auto) {
    if (offset == kReadBytes) throw base::DataError(path + ": forbidden");
  };
  EXPECT_THAT(failure(), HasSubstr("forbidden"));
  EXPECT_LE(storage_->num_reads, 3);
  EXPECT_EQ(fs::file_size(part_), 0);
}

TEST_F(FetchTest, FetchesWrongBytesOnceMore) {
  bool is_wrong = true;
  storage_->disturb = [&](const std::string&, std::uint64_t offset, auto bytes) {
    if (offset == kReadBytes && std::exchange(is_wrong, false)) bytes[7] ^= 1;
  };
  run();
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("fetching it again"));
  expect_complete();
}

TEST_F(FetchTest, RefusesAFileOfAnotherChecksum) {
  storage_->files[kPath][5] ^= 1;
  EXPECT_THAT(failure(), HasSubstr("but that of the published file is " + md5_ + ", twice"));
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_FALSE(fs::exists(part_));
}

TEST_F(FetchTest, StartsAnewWhenWhatIsThereIsOfAnotherFile) {
  folder_.write("downloads/file.part", std::string(100, 'x'));
  run();
  expect_complete();
  EXPECT_THAT(said_, SizeIs(1));
  fs::remove(target_);
  folder_.write("downloads/file.part", std::string(30'000, 'x'));
  run();
  expect_complete();
}

TEST_F(FetchTest, TakesFilesWithoutAChecksum) {
  md5_.clear();
  storage_->files[kPath].clear();
  run();
  expect_complete();
}

TEST_F(FetchTest, TellsOfAFullDiskAndGoesOnLater) {
  options_.connections = 1;
  files_.fill_disk_after(9'000);
  EXPECT_THAT(failure(), HasSubstr("file.part"));
  EXPECT_FALSE(fs::exists(target_));
  files_.free_disk();
  run();
  expect_complete();
}

TEST_F(FetchTest, NamesAFileThatIsNotThere) {
  storage_->files.clear();
  EXPECT_THAT(failure(), HasSubstr("s3://bucket/file: there is no such file"));
}

TEST_F(FetchTest, ChecksFilesInTheirPlace) {
  check_md5(*storage_, kPath, md5_);
  storage_->files[kPath].back() ^= 1;
  EXPECT_THROW(check_md5(*storage_, kPath, md5_), base::DataError);
}

}  // namespace
}  // namespace paceline::dataset_tools
