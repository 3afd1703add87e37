#include "paceline/checkpoint/branch.h"

#include "paceline/base/file.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/faulty_file_system.h"
#include "support/interrupted_file_system.h"
#include "support/unsynced_file_system.h"

#include <array>
#include <cerrno>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::InterruptedFileSystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BranchTest : public ::testing::Test {
 protected:
  fs::path save(std::int64_t step) { return save_in(folder_, step); }
  fs::path save_in(const fs::path& folder, std::int64_t step) {
    return save_model(folder, step, static_cast<double>(step), Layout::kReplicated, 1, files_);
  }
  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }
  static void flip_a_byte(const fs::path& checkpoint) {
    std::string bytes = base::read_file(checkpoint / "rank-0.safetensors");
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    base::RealFileSystem().create(checkpoint / "rank-0.safetensors")->write(bytes);
  }

  base::TempDir dir_;
  fs::path folder_ = dir_.path() / "checkpoints";
  test::UnsyncedFileSystem files_;
};

TEST_F(BranchTest, FromTheNewestNothingHappens) {
  save(10);
  const fs::path newest = save(20);
  const Branch branch = continue_from(files_, newest, folder_);
  EXPECT_EQ(branch.continued, newest);
  EXPECT_TRUE(branch.aside.empty());
  EXPECT_THAT(branch.abandoned_steps, IsEmpty());
  EXPECT_THAT(names_in(folder_), ElementsAre("step-00000010", "step-00000020"));
}

TEST_F(BranchTest, WhatIsLaterIsKeptInAFolderOfItsOwn) {
  const fs::path from = save(20);
  flip_a_byte(save(30));
  save(40);
  const Branch branch = continue_from(files_, from, folder_);
  EXPECT_EQ(branch.aside, folder_ / "branch-1");
  EXPECT_THAT(branch.abandoned_steps, ElementsAre(30, 40));
  EXPECT_EQ(find_latest(folder_).path, from);
  EXPECT_TRUE(find_latest(folder_).skipped.empty());
  EXPECT_EQ(find_latest(branch.aside).path, branch.aside / "step-00000040");

  save(30);
  EXPECT_EQ(continue_from(files_, from, folder_).aside, folder_ / "branch-2");
  EXPECT_THAT(names_in(folder_), ElementsAre("branch-1", "branch-2", "step-00000020"));
}

TEST_F(BranchTest, GoesBackToAnAbandonedBranch) {
  const fs::path from = save(20);
  save(40);
  continue_from(files_, from, folder_);
  save(30);
  const fs::path abandoned = folder_ / "branch-1" / "step-00000040";
  EXPECT_EQ(continue_from(files_, abandoned, folder_).continued, folder_ / "step-00000040");
  EXPECT_EQ(find_latest(folder_).path, folder_ / "step-00000040");
  EXPECT_THAT(names_in(folder_), ElementsAre("branch-1", "branch-2", "step-00000040"))
      << "30 did not lead to 40";
  expect_loads(folder_ / "step-00000040", 40, Layout::kReplicated, 1);
  EXPECT_TRUE(fs::exists(abandoned));
}

TEST_F(BranchTest, RecordsGoAsideWithTheirCheckpointsAndComeBack) {
  const std::array records{dir_.path() / "metrics.jsonl", dir_.path() / "absent.jsonl"};
  const auto write = [&](std::string_view text) { files_.create(records[0])->write(text); };
  const fs::path from = save(20);
  save(40);
  write("20 40");
  const Branch first = continue_from(files_, from, folder_, records);
  EXPECT_EQ(base::read_file(first.aside / "metrics.jsonl"), "20 40");
  EXPECT_EQ(base::read_file(records[0]), "20 40") << "its owner cuts it";
  save(30);
  write("20 30");
  const Branch second = continue_from(files_, first.aside / "step-00000040", folder_, records);
  EXPECT_EQ(base::read_file(second.aside / "metrics.jsonl"), "20 30");
  EXPECT_EQ(base::read_file(records[0]), "20 40");
  EXPECT_FALSE(fs::exists(records[1]));
}

TEST_F(BranchTest, ACheckpointFromElsewhereBecomesTheNewestHere) {
  save(10);
  save(30);
  const fs::path other = save_in(dir_.path() / "other", 20);
  EXPECT_THAT(continue_from(files_, other, folder_).abandoned_steps, ElementsAre(10, 30));
  const auto latest = find_latest(folder_).path;
  ASSERT_EQ(latest, folder_ / "step-00000020");
  EXPECT_TRUE(fs::equivalent(*latest / "rank-0.safetensors", other / "rank-0.safetensors"));
  expect_loads(*latest, 20, Layout::kReplicated, 1);
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(BranchTest, OneOfTheSameStepGivesWayToTheOneFromElsewhere) {
  save(20);
  const fs::path other = save_in(dir_.path() / "other", 20);
  EXPECT_THAT(continue_from(files_, other, folder_).abandoned_steps, ElementsAre(20));
  EXPECT_TRUE(fs::equivalent(folder_ / "step-00000020" / "rank-0.safetensors",
                             other / "rank-0.safetensors"));
}

TEST_F(BranchTest, CopiesWhereLinksCannotBeMade) {
  const fs::path other = save_in(dir_.path() / "other", 20);
  test::FaultyFileSystem files(
      [](std::string_view operation, const fs::path&) { return operation == "link" ? EXDEV : 0; });
  const Branch branch = continue_from(files, other, folder_);
  EXPECT_FALSE(
      fs::equivalent(branch.continued / "rank-0.safetensors", other / "rank-0.safetensors"));
  expect_loads(branch.continued, 20, Layout::kReplicated, 1);
}

TEST_F(BranchTest, InterruptedAnywhereItLosesNothingAndCanBeRepeated) {
  const fs::path other = save_in(dir_.path() / "other", 20);
  bool has_finished = false;
  for (int operation = 0; !has_finished; ++operation) {
    fs::remove_all(folder_);
    save(10);
    save(30);
    save(40);
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    try {
      continue_from(dying, other, folder_);
      has_finished = true;
    } catch (const InterruptedFileSystem::Died&) {
    }
    clean_leftovers(files_, folder_);
    const Branch branch = continue_from(files_, other, folder_);
    EXPECT_EQ(find_latest(folder_).path, folder_ / "step-00000020") << operation;
    std::size_t num_kept = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      num_kept += entry.path().filename() == kManifestFile ? 1u : 0u;
    EXPECT_GE(num_kept, 4u) << operation;
    ASSERT_LT(operation, 100);
  }
}

}  // namespace
}  // namespace paceline::checkpoint
