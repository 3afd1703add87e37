#include "support/power_loss_file_system.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// All that a power loss may leave behind, each disk as "name=content name=content".
std::set<std::string> disks_of(const DiskModel& model) {
  std::set<std::string> disks;
  for (const auto& [what, disk] : model.after_power_loss()) {
    std::string text;
    for (const auto& [path, content] : disk)
      text += (text.empty() ? "" : " ") + path + (content ? "=" + *content : "/");
    disks.insert(text);
  }
  return disks;
}

TEST(DiskModel, WhatWasNotSyncedIsLostOrTornOrThere) {
  DiskModel model;
  model.create("a").written = "1234";
  EXPECT_THAT(disks_of(model),
              UnorderedElementsAre("", "a=", std::string("a=12\0\0", 6), "a=1234"));
  model.sync_folder("");
  EXPECT_THAT(disks_of(model), UnorderedElementsAre("a=", std::string("a=12\0\0", 6), "a=1234"));
  DiskModel::sync(*model.find_file("a"));
  EXPECT_THAT(disks_of(model), ElementsAre("a=1234"));
  model.find_file("a")->written += "56";
  EXPECT_THAT(disks_of(model),
              UnorderedElementsAre("a=1234", std::string("a=12345\0", 8), "a=123456"));
}

TEST(DiskModel, AFolderIsThereWhenItsNameIs) {
  DiskModel model;
  model.make_folders("a/b");
  model.sync_folder("a");
  EXPECT_THAT(disks_of(model), UnorderedElementsAre("", "a/ a/b/"));
  model.sync_folder("");
  EXPECT_THAT(disks_of(model), ElementsAre("a/ a/b/"));
}

TEST(DiskModel, AReplacedFileIsTheOldOrTheNew) {
  DiskModel model;
  model.create("a").written = "old";
  model.sync_all();
  DiskModel::File& other = model.create("b");
  other.written = "new";
  DiskModel::sync(other);
  model.rename("b", "a");
  EXPECT_THAT(disks_of(model), UnorderedElementsAre("a=old", "a=new"));
}

TEST(DiskModel, ARenameBetweenFoldersIsDoneOrNot) {
  DiskModel model;
  model.make_folders("a");
  model.make_folders("b");
  model.create("a/x");
  model.sync_all();
  model.rename("a/x", "b/x");
  EXPECT_THAT(disks_of(model), UnorderedElementsAre("a/ a/x= b/", "a/ a/x= b/ b/x=", "a/ b/ b/x="));
  model.sync_folder("a");  // alone it only says that the name is gone
  EXPECT_THAT(disks_of(model), ::testing::Contains("a/ b/"));
  model.sync_folder("b");
  EXPECT_THAT(disks_of(model), ElementsAre("a/ b/ b/x="));
}

TEST(DiskModel, ARemovalMayReachTheContentsBeforeTheName) {
  DiskModel model;
  model.make_folders("a");
  model.create("a/x");
  model.sync_all();
  model.remove_all("a");
  EXPECT_THAT(disks_of(model), UnorderedElementsAre("a/ a/x=", "a/", ""));
  model.remove_all("a");
}

TEST(DiskModel, LinksShareContents) {
  DiskModel model;
  model.create("a").written = "1";
  model.link("a", "b");
  model.sync_all();
  model.remove_all("a");
  model.sync_folder("");
  EXPECT_THAT(disks_of(model), ElementsAre("b=1"));
}

TEST(PowerLossFileSystem, FindsWhatASyncIsMissingFor) {
  const auto write = [](PowerLossFileSystem& files, const fs::path& root, bool is_synced) {
    const auto file = files.create(root / "a");
    file->write("text");
    file->sync();
    if (is_synced) files.sync_directory(root);
    files.expect([](const fs::path& disk) { return fs::exists(disk / "a") ? "" : "a is lost"; });
  };
  EXPECT_EQ(problem_of({.run = [&](auto& files, const auto& root) { write(files, root, true); }}),
            "");
  EXPECT_THAT(
      problem_of({.run = [&](auto& files, const auto& root) { write(files, root, false); }}),
      AllOf(HasSubstr("after what was promised"), HasSubstr("a is lost")));
}

TEST(PowerLossFileSystem, LeavesOutOneSyncAfterAnother) {
  const PowerLossScenario scenario{.run = [](PowerLossFileSystem& files, const fs::path& root) {
    const auto file = files.append(root / "a.tmp-1234");
    for (const char* text : {"1", "2"}) {
      file->write(text);
      file->sync();
    }
    files.sync_directory(root);
    files.sync_directory(root);
    files.expect([](const fs::path& disk) {
      const fs::path path = disk / "a.tmp-1234";
      return fs::exists(path) && base::read_file(path) == "12" ? "" : "not all is there";
    });
  }};
  std::vector<std::string> syncs;
  EXPECT_EQ(problem_of(scenario, "", &syncs), "");
  EXPECT_THAT(syncs, ElementsAre("sync a.tmp-", "sync a.tmp- (2)", "sync_directory .",
                                 "sync_directory . (2)"));
  EXPECT_THAT(syncs_without_need(scenario),
              ElementsAre("sync a.tmp-", "sync_directory .", "sync_directory . (2)"));
}

TEST(PowerLossFileSystem, RefusesWhatWasMadeBehindItsBack) {
  const base::TempDir root;
  PowerLossFileSystem files(root.path());
  base::RealFileSystem().create(root.path() / "a");
  EXPECT_THROW(files.rename(root.path() / "a", root.path() / "b"), std::logic_error);
  EXPECT_THROW(files.sync_directory(root.path().parent_path()), std::logic_error);
}

}  // namespace
}  // namespace paceline::test
