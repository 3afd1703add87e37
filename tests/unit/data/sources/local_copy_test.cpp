#include "paceline/data/sources/local_copy.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/faulty_file_system.h"
#include "support/power_loss_file_system.h"
#include "support/unsynced_file_system.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::CacheHome;
using paceline::test::FakeStorage;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  return names;
}

class LocalCopy : public ::testing::Test {
 protected:
  LocalCopy() {
    storage_->files["s3://b/set/a"] = "content a";
    storage_->files["s3://b/set/raw/b"] = "content b";
    storage_->files["s3://b/set/other"] = "not asked for";
  }
  fs::path copy() const {
    return copy_to_this_machine(*storage_, "s3://b/set", {"a", "raw/b", "c"});
  }

  CacheHome cache_;
  std::shared_ptr<FakeStorage> storage_ = std::make_shared<FakeStorage>();
};

TEST_F(LocalCopy, HoldsTheFilesThatAreThere) {
  const fs::path folder = copy();
  EXPECT_EQ(base::read_file(folder / "a"), "content a");
  EXPECT_EQ(base::read_file(folder / "raw/b"), "content b");
  EXPECT_FALSE(fs::exists(folder / "c"));
  EXPECT_FALSE(fs::exists(folder / "other"));
  EXPECT_THAT(folder.string(), ::testing::StartsWith(cache_.path().string()));
}

TEST_F(LocalCopy, IsMadeOnceAndAgainWhenTheOriginalHasChanged) {
  const fs::path folder = copy();
  const int reads = storage_->num_reads;
  EXPECT_EQ(copy(), folder);
  EXPECT_EQ(storage_->num_reads, reads);
  storage_->files["s3://b/set/a"] = "another a";  // of the same size
  storage_->changed = 2;
  storage_->files.erase("s3://b/set/raw/b");
  EXPECT_EQ(base::read_file(copy() / "a"), "another a");
  EXPECT_FALSE(fs::exists(folder / "raw/b"));
}

TEST_F(LocalCopy, IsMadeByOneOfTheProcessesThatStartTogether) {
  storage_->latency = std::chrono::milliseconds(50);
  std::vector<std::thread> processes;
  for (int i = 0; i < 4; ++i)
    processes.emplace_back([&] { EXPECT_EQ(base::read_file(copy() / "a"), "content a"); });
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(storage_->num_reads, 2) << "of each of the two files one";
}

TEST_F(LocalCopy, IsMadeAgainAfterABreak) {
  const fs::path folder = copy();
  base::RealFileSystem().remove_all(folder / "a.origin");
  copy();
  base::RealFileSystem().create(folder / "raw/b")->write("cut");
  EXPECT_EQ(base::read_file(copy() / "raw/b"), "content b");
  EXPECT_EQ(base::read_file(folder / "a"), "content a");
}

TEST_F(LocalCopy, IsOfAFileThatIsNamedItself) {
  EXPECT_EQ(base::read_file(copy_to_this_machine(*storage_, "s3://b/set/a", {"x"})), "content a");
}

TEST_F(LocalCopy, ReadsLargeFilesInPieces) {
  std::string& large = storage_->files["s3://b/set/a"];
  large.resize((std::size_t{70} << 20) + 5);
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>(i / 1000);
  EXPECT_EQ(base::read_file(copy() / "a"), large);
  EXPECT_GT(storage_->num_reads, 16);
}

TEST_F(LocalCopy, LiesInTheCacheThatTheStorageNames) {
  const test::TempFolder named;
  storage_->cache = named.path();
  const fs::path folder = copy();
  EXPECT_THAT(folder.string(), ::testing::StartsWith(named.path().string()));
  EXPECT_EQ(base::read_file(folder / "a"), "content a");
  EXPECT_TRUE(fs::is_empty(cache_.path()));
}

TEST_F(LocalCopy, AFullDiskNamesTheOriginalAndTheCure) {
  const auto files = std::make_shared<test::FaultyFileSystem>();
  files->fill_disk_after(4);
  EXPECT_THAT([&] { copy_to_this_machine(*storage_, "s3://b/set", {"a"}, files); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("s3://b/set/a: is used from a copy of its 9 bytes"),
                        HasSubstr("No space left"), HasSubstr("data.remote.cache"))));
  EXPECT_THAT(names_below(cache_.path()), ElementsAre());
  files->free_disk();
  EXPECT_EQ(base::read_file(copy() / "a"), "content a");
}

TEST_F(LocalCopy, RemovesWhatADeadProcessLeft) {
  const fs::path folder = copy();
  const fs::path abandoned = base::unfinished_path(folder / "a");
  const fs::path written = base::unfinished_path(folder / "a");
  for (const fs::path& file : {abandoned, written}) base::RealFileSystem().create(file)->write("x");
  fs::last_write_time(abandoned, fs::file_time_type::clock::now() - std::chrono::hours(2));
  storage_->changed = 2;
  copy();
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(written));
}

TEST_F(LocalCopy, SaysWhatIsMissing) {
  EXPECT_THAT(
      [&] {
        copy_to_this_machine(*storage_, "s3://b/set", {"x", "y"});
      },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("s3://b/set"), HasSubstr("x, y"))));
}

TEST_F(LocalCopy, IsWholeOrMadeAgainAfterAPowerLoss) {
  const auto copy_below = [&](const fs::path& cache, base::FileSystem& files) {
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const std::shared_ptr<base::FileSystem> unowned(&files, [](auto*) {});
    return base::read_file(copy_to_this_machine(*storage_, "s3://b/set", {"a"}, unowned) / "a");
  };
  const test::PowerLossScenario scenario{
      .run = [&](test::PowerLossFileSystem& files, const fs::path& root) {
        files.expect([&](const fs::path& disk) {
          test::UnsyncedFileSystem unsynced;
          const std::string text = copy_below(disk, unsynced);
          setenv("XDG_CACHE_HOME", root.c_str(), 1);
          return text == "content a" ? "" : "it is damaged";
        });
        copy_below(root, files);
      }};
  EXPECT_EQ(problem_of(scenario), "");
  EXPECT_THAT(syncs_without_need(scenario),
              ElementsAre(HasSubstr("a.origin.tmp-"), ContainsRegex("sync_directory .*copies/")))
      << "without its note it is only made again";
}

}  // namespace
}  // namespace paceline::data
