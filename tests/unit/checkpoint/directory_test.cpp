#include "paceline/checkpoint/directory.h"

#include "paceline/base/file.h"
#include "support/faulty_file_system.h"
#include "support/interrupted_file_system.h"
#include "support/unsynced_file_system.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::InterruptedFileSystem;

TEST(CheckpointName, GoesBothWays) {
  EXPECT_EQ(checkpoint_name(1234), "step-00001234");
  EXPECT_EQ(checkpoint_name(1'234'567'890), "step-1234567890");
  EXPECT_EQ(step_of_name("step-00001234"), 1234);
  EXPECT_EQ(step_of_name("step-1234567890"), 1'234'567'890);
  for (const char* name : {"step-1234", "step-00001234.tmp", "step-00001234x", "step--0000001",
                           "step-", "last", "step-0000000x", ""}) {
    EXPECT_EQ(step_of_name(name), std::nullopt) << name;
  }
}

class DirectoryTest : public ::testing::Test {
 protected:
  void make(const fs::path& directory, const std::string& text) {
    fs::create_directories(directory);
    files_.create(directory / "content")->write(text);
  }
  std::string content(const fs::path& directory) const {
    return fs::exists(directory / "content") ? base::read_file(directory / "content") : "";
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.insert(entry.path().filename().string());
    return names;
  }

  base::TempDir dir_;
  fs::path folder_ = dir_.path();
  fs::path target_ = folder_ / "step-00000005";
  test::UnsyncedFileSystem files_;
};

TEST(MakeEmptyDirectory, DoesNotMakeARunDirectoryThatIsGone) {
  const base::TempDir dir;
  base::RealFileSystem files;
  const fs::path run = dir.path() / "run";
  const fs::path checkpoint = run / "checkpoints" / "step-00000001.tmp";
  fs::create_directory(run);
  make_empty_directory(files, checkpoint);
  EXPECT_TRUE(fs::is_directory(checkpoint));
  fs::remove_all(run);
  EXPECT_THROW(make_empty_directory(files, checkpoint), base::CheckpointError);
  EXPECT_FALSE(fs::exists(run));
}

TEST(MakeEmptyDirectory, DoesNotMakeARunDirectoryThatIsRemovedMeanwhile) {
  const base::TempDir dir;
  const fs::path run = dir.path() / "run";
  const fs::path checkpoint = run / "checkpoints" / "step-00000001.tmp";
  for (const fs::path& at : {checkpoint.parent_path(), checkpoint}) {
    fs::create_directory(run);
    test::FaultyFileSystem files([&](std::string_view operation, const fs::path& path) {
      if (operation.starts_with("create_director") && path == at) fs::remove_all(run);
      return 0;
    });
    EXPECT_THROW(make_empty_directory(files, checkpoint), base::FileError) << at;
    EXPECT_FALSE(fs::exists(run)) << at;
  }
}

TEST_F(DirectoryTest, PublishGivesTheName) {
  make(temporary_of(target_), "new");
  publish_directory(files_, temporary_of(target_), target_);
  EXPECT_EQ(content(target_), "new");
  EXPECT_THAT(names(), ::testing::ElementsAre("step-00000005"));
}

TEST_F(DirectoryTest, KilledWhileReplacingKeepsTheOldOrTheNew) {
  for (int operation = 0;; ++operation) {
    fs::remove_all(target_);
    make(target_, "old");
    make(temporary_of(target_), "new");
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    bool has_finished = false;
    try {
      publish_directory(dying, temporary_of(target_), target_);
      has_finished = true;
    } catch (const InterruptedFileSystem::Died&) {
    }
    clean_leftovers(files_, folder_);  // the next run
    EXPECT_THAT(content(target_), ::testing::AnyOf("old", "new")) << operation;
    EXPECT_THAT(names(), ::testing::ElementsAre("step-00000005")) << operation;
    if (has_finished) break;
    ASSERT_LT(operation, 50);
  }
  EXPECT_EQ(content(target_), "new");
}

TEST_F(DirectoryTest, KilledWhileRemovingLeavesAllOrNothing) {
  for (int operation = 0;; ++operation) {
    make(target_, "whole");
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    bool has_finished = false;
    try {
      remove_checkpoint(dying, target_);
      has_finished = true;
    } catch (const InterruptedFileSystem::Died&) {
    }
    if (fs::exists(target_)) {
      EXPECT_EQ(content(target_), "whole") << operation;
    }
    clean_leftovers(files_, folder_);
    if (has_finished) break;
    ASSERT_LT(operation, 50);
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(DirectoryTest, CleaningTouchesNothingElse) {
  make(folder_ / "step-00000001", "a");
  make(folder_ / "step-00000002.tmp", "b");
  make(folder_ / "step-00000003.old", "c");
  make(folder_ / "mine.tmp", "d");
  make(folder_ / "step-7.tmp", "e");
  clean_leftovers(files_, folder_);
  EXPECT_THAT(names(),
              ::testing::ElementsAre("mine.tmp", "step-00000001", "step-00000003", "step-7.tmp"));
  clean_leftovers(files_, folder_ / "absent");
}

TEST_F(DirectoryTest, AFailureWhileCleaningUpAfterAFailureDoesNotThrow) {
  make(target_, "x");
  InterruptedFileSystem broken(0);
  remove_quietly(broken, target_);
  EXPECT_TRUE(fs::exists(target_));
}

}  // namespace
}  // namespace paceline::checkpoint
