#include "paceline/data/index/image_listing.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/data/remote/remote_storage.h"
#include "support/temp_folder.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<ListedFolder> list(const fs::path& root, const std::string& name) {
  const auto storage = local_storage();
  ListingProgress progress(root.string(), *storage);
  return list_class(root, name, *storage, progress);
}

TEST(ListClass, GivesFoldersByPathWithTheirImages) {
  const TempFolder folder;
  for (const char* const name : {"a/2.jpg", "a/10.jpg", "a/deep/1.png", "a/.hidden/0.jpg"})
    folder.write(name, "x");
  const auto folders = list(folder.path(), "a");
  std::vector<std::string> paths;
  for (const ListedFolder& one : folders) paths.push_back(one.path);
  EXPECT_THAT(paths, ElementsAre("a", "a/.hidden", "a/deep"));
  ASSERT_EQ(folders.front().files.size(), 2u);
  EXPECT_EQ(folders.front().files[0].name, "10.jpg");
}

TEST(ListClass, AllEmptyClassesAreNamedAtOnce) {
  const TempFolder folder;
  for (const char* const name : {"a/1.jpg", "b/deep/readme.txt", "c/readme.txt"})
    folder.write(name, "x");
  const std::vector<std::string> classes{"a", "b", "c"};
  std::vector<std::vector<ListedFolder>> listed;
  for (const std::string& name : classes) listed.push_back(list(folder.path(), name));
  EXPECT_THAT([&] { require_images(folder.path(), classes, listed); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(folder.path().string()), HasSubstr("these classes: b, c;"))));
}

TEST(ListClass, LinksThatLeadNowhereAreLeftOut) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  fs::create_symlink("nowhere.jpg", folder.path() / "a/2.jpg");
  const auto folders = list(folder.path(), "a");
  EXPECT_THAT(folders.front().left_out, ElementsAre("a/2.jpg (a link to nothing)"));
}

TEST(ListClass, WhatCannotBeLookedAtIsAnError) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  fs::create_symlink("3.jpg", folder.path() / "a/2.jpg");
  fs::create_symlink("2.jpg", folder.path() / "a/3.jpg");
  EXPECT_THAT(
      [&] { list(folder.path(), "a"); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr(".jpg"), HasSubstr("symbolic links"))));
}

TEST(ListClass, AStopEndsIt) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  base::Interruption interruption;
  interruption.request(SIGTERM);
  const auto storage = make_storage({}, &interruption);
  ListingProgress progress("x", *storage);
  EXPECT_THROW(list_class(folder.path(), "a", *local_storage(), progress), base::Interrupted);
}

}  // namespace
}  // namespace paceline::data
