#include "paceline/data/prepare/fetch.h"

#include "paceline/base/error.h"
#include "support/data/md5_of.h"
#include "support/data/memory_storage.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::Ge;
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
    storage_.contents[kPath] = large_content();
    options_.read_bytes = kReadBytes;
    options_.on_retry = [this](const std::string& what) {
      const std::lock_guard lock(mutex_);
      retries_.push_back(what);
    };
  }

  void run() { fetch(storage_, kPath, md5_, target_, options_, files_); }
  std::string failure() {
    try {
      run();
    } catch (const base::Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  void expect_complete() {
    EXPECT_TRUE(base::read_file(target_) == storage_.contents[kPath]);
    EXPECT_FALSE(fs::exists(part_));
  }

  const test::TempFolder folder_;
  const fs::path target_ = folder_.path() / "downloads" / "file";
  const fs::path part_ = folder_.path() / "downloads" / "file.part";
  MemoryStorage storage_;
  std::string md5_ = md5_of(large_content());
  FetchOptions options_;
  test::FaultyFileSystem files_;
  std::mutex mutex_;
  std::vector<std::string> retries_;
};

TEST_F(FetchTest, BringsAFileAndTellsHowFarItIs) {
  for (const int connections : {1, 2, 8}) {
    fs::remove(target_);
    options_.connections = connections;
    std::uint64_t last = 0;
    fetch(storage_, kPath, md5_, target_, options_, files_,
          [&](std::uint64_t done, std::uint64_t total) {
            EXPECT_GT(done, last);
            last = done;
            EXPECT_EQ(total, storage_.contents[kPath].size());
          });
    EXPECT_EQ(last, storage_.contents[kPath].size());
    expect_complete();
  }
  EXPECT_THAT(retries_, IsEmpty());
}

TEST_F(FetchTest, LeavesACompleteFileAlone) {
  run();
  const auto reads = storage_.read_offsets().size();
  run();
  EXPECT_EQ(storage_.read_offsets().size(), reads);
}

TEST_F(FetchTest, GoesOnWhereItWas) {
  options_.connections = 1;
  storage_.disturb = [](const std::string& path, std::uint64_t offset, auto) {
    if (offset >= 2 * kReadBytes) throw base::DataError(path + ": connection reset");
  };
  EXPECT_THAT(failure(), HasSubstr("connection reset; what has come is kept"));
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_EQ(fs::file_size(part_), 2 * kReadBytes);
  storage_.disturb = {};
  const std::size_t before = storage_.read_offsets().size();
  run();
  const auto offsets = storage_.read_offsets();
  EXPECT_THAT(std::vector<std::uint64_t>(offsets.begin() + static_cast<std::ptrdiff_t>(before),
                                         offsets.end()),
              Each(Ge(2 * kReadBytes)));
  expect_complete();
}

TEST_F(FetchTest, FetchesWrongBytesOnceMore) {
  bool is_wrong = true;
  storage_.disturb = [&](const std::string&, std::uint64_t offset, auto bytes) {
    if (offset == kReadBytes && std::exchange(is_wrong, false)) bytes[7] ^= 1;
  };
  run();
  ASSERT_THAT(retries_, SizeIs(1));
  EXPECT_THAT(retries_[0], HasSubstr("fetching it again"));
  expect_complete();
}

TEST_F(FetchTest, RefusesAFileOfAnotherChecksum) {
  storage_.contents[kPath][5] ^= 1;
  EXPECT_THAT(failure(), HasSubstr("but that of the published file is " + md5_ + ", twice"));
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_FALSE(fs::exists(part_));
}

TEST_F(FetchTest, StartsAnewWhenWhatIsThereIsOfAnotherFile) {
  folder_.write("downloads/file.part", std::string(100, 'x'));
  run();
  expect_complete();
  EXPECT_THAT(retries_, SizeIs(1));
  fs::remove(target_);
  folder_.write("downloads/file.part", std::string(30'000, 'x'));
  run();
  expect_complete();
}

TEST_F(FetchTest, TakesFilesWithoutAChecksum) {
  md5_.clear();
  storage_.contents[kPath].clear();
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
  storage_.contents.clear();
  EXPECT_THAT(failure(), HasSubstr("s3://bucket/file: not found"));
}

TEST_F(FetchTest, ChecksFilesInTheirPlace) {
  check_md5(storage_, kPath, md5_);
  storage_.contents[kPath].back() ^= 1;
  EXPECT_THROW(check_md5(storage_, kPath, md5_), base::DataError);
}

}  // namespace
}  // namespace paceline::data
