#include "paceline/data/index/image_listing.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/data/remote/remote_storage.h"
#include "support/temp_folder.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
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

/// The samples' paths relative to the root.
std::vector<std::string> paths_of(const RangeIndex& index, const fs::path& root) {
  std::vector<std::string> paths;
  for (std::int64_t i = 0; i < index.size(); ++i) {
    const fs::path folder = index.source(index.range(i).source).lexically_relative(root);
    paths.push_back(folder / index.name(i));
  }
  return paths;
}

/// Makes all folders look an hour old, so that they count as stable.
void age_folders(const fs::path& root) {
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root, hour_ago);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) fs::last_write_time(entry.path(), hour_ago);
  }
}

TEST(ImageListing, OrdersAndLabelsAsTorchvisionDoes) {
  const TempFolder folder;
  for (const char* name : {"b/2.jpg", "b/10.JPEG", "b/sub/1.png", "b/sub-a/1.png", "b/A.PNG",
                           "a/x.Jpg", "a/notes.txt", "a/x.webp", "B/1.jpg", "loose.jpg"}) {
    folder.write(name, "x");
  }
  const auto classes = list_classes(folder.path());
  EXPECT_THAT(classes, ElementsAre("B", "a", "b"));
  const RangeIndex index = list_image_folder(folder.path(), classes, 3);
  EXPECT_THAT(paths_of(index, folder.path()),
              ElementsAre("B/1.jpg", "a/x.Jpg", "a/x.webp", "b/10.JPEG", "b/2.jpg", "b/A.PNG",
                          "b/sub/1.png", "b/sub-a/1.png"));
  EXPECT_EQ(index.label(0), 0);
  EXPECT_EQ(index.label(1), 1);
  EXPECT_EQ(index.label(7), 2);
}

TEST(ImageListing, LabelsFollowTheGivenClasses) {
  const TempFolder folder;
  folder.write("c/1.jpg", "x");
  EXPECT_EQ(list_image_folder(folder.path(), {"a", "b", "c"}).label(0), 2);
  try {
    list_image_folder(folder.path(), {"a", "b"});
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no class 'c'"));
  }
}

TEST(ImageListing, FollowsLinksButNotInCircles) {
  const TempFolder folder;
  folder.write("store/1.jpg", "x");
  folder.write("set/a/2.jpg", "x");
  fs::create_directory_symlink(folder.path() / "store", folder.path() / "set/b");
  const fs::path set = folder.path() / "set";
  EXPECT_THAT(paths_of(list_image_folder(set, list_classes(set)), set),
              ElementsAre("a/2.jpg", "b/1.jpg"));
  fs::create_directory_symlink(set / "a", set / "a/again");
  EXPECT_THROW(list_image_folder(set, list_classes(set)), base::DataError);
}

TEST(ImageListing, FingerprintChangesWithNamesSizesAndLabels) {
  const auto fingerprint = [](const char* name, const char* content,
                              const std::vector<std::string>& classes) {
    const TempFolder folder;
    folder.write(name, content);
    return list_image_folder(folder.path(), classes).fingerprint();
  };
  const std::string base = fingerprint("a/1.jpg", "x", {"a"});
  EXPECT_EQ(base, fingerprint("a/1.jpg", "x", {"a"}));
  EXPECT_NE(base, fingerprint("a/2.jpg", "x", {"a"}));
  EXPECT_NE(base, fingerprint("a/1.jpg", "xx", {"a"}));
  EXPECT_NE(base, fingerprint("a/1.jpg", "x", {"a", "b"}));
}

// What runs have saved: it must stay what it is.
TEST(ImageListing, FingerprintIsThatOfClassesPathsSizesAndLabels) {
  const TempFolder folder;
  folder.write("a/2.jpg", "12345");
  folder.write("a/in/1.png", "");
  folder.write("c/1.jpg", "x");
  EXPECT_EQ(list_image_folder(folder.path(), {"a", "b", "c"}).fingerprint(),
            fmt::format("image_folder:3:{:016x}",
                        base::xxh3("a/b/c/a/2.jpg\n5 0\na/in/1.png\n0 0\nc/1.jpg\n1 2\n")));
}

class SavedImageListing : public ::testing::Test {
 protected:
  SavedImageListing() {
    for (const char* name : {"set/a/1.jpg", "set/a/in/2.jpg", "set/b/3.jpg"})
      folder_.write(name, "x");
    age_folders(root_);
    const RangeIndex index = list_image_folder(root_, classes_);
    fingerprint_ = index.fingerprint();
    EXPECT_TRUE(index.is_stable());
    EXPECT_TRUE(index.save(file_));
  }

  TempFolder folder_;
  const fs::path root_ = folder_.path() / "set";
  const fs::path file_ = folder_.path() / "cache/set.index";
  const std::vector<std::string> classes_ = {"a", "b"};
  std::string fingerprint_;
};

TEST_F(SavedImageListing, ComesBackTheSame) {
  const auto index = load_image_folder(file_, root_, classes_);
  ASSERT_TRUE(index);
  EXPECT_THAT(paths_of(*index, root_), ElementsAre("a/1.jpg", "a/in/2.jpg", "b/3.jpg"));
  EXPECT_EQ(index->label(2), 1);
  EXPECT_EQ(index->fingerprint(), fingerprint_);
}

TEST_F(SavedImageListing, IsStaleWhenAFileIsAddedDeepInside) {
  folder_.write("set/a/in/4.jpg", "x");
  EXPECT_FALSE(load_image_folder(file_, root_, classes_));
}

TEST_F(SavedImageListing, IsStaleWhenAClassIsAddedOrGoes) {
  folder_.write("set/c/1.jpg", "x");
  EXPECT_FALSE(load_image_folder(file_, root_, classes_));
  fs::remove_all(root_ / "c");
  fs::remove_all(root_ / "b");
  EXPECT_FALSE(load_image_folder(file_, root_, classes_));
}

TEST_F(SavedImageListing, IsStaleForOtherClasses) {
  EXPECT_FALSE(load_image_folder(file_, root_, {"a", "b", "c"}));
}

TEST_F(SavedImageListing, IsIgnoredWhenDamagedOrAbsent) {
  EXPECT_FALSE(load_image_folder(folder_.path() / "absent", root_, classes_));
  EXPECT_FALSE(load_image_folder(folder_.path(), root_, classes_));
  const std::string whole = base::read_file(file_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    std::ofstream(file_, std::ios::binary) << damaged;
    EXPECT_FALSE(load_image_folder(file_, root_, classes_)) << at;
    std::ofstream(file_, std::ios::binary) << whole.substr(0, at);
    EXPECT_FALSE(load_image_folder(file_, root_, classes_)) << at;
  }
}

TEST_F(SavedImageListing, IsIgnoredWhenOfAnotherForm) {
  std::ofstream(file_, std::ios::binary) << "PLIMGIX4" << std::string(500, '\0');
  EXPECT_FALSE(load_image_folder(file_, root_, classes_));
}

TEST_F(SavedImageListing, SurvivesWhatHappensToItsFile) {
  const auto index = load_image_folder(file_, root_, classes_);
  ASSERT_TRUE(index);
  fs::resize_file(file_, 0);
  EXPECT_THAT(paths_of(*index, root_), ElementsAre("a/1.jpg", "a/in/2.jpg", "b/3.jpg"));
}

TEST(ImageListing, FreshFoldersAreNotSettled) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  EXPECT_FALSE(list_image_folder(folder.path(), {"a"}).is_stable());
}

TEST(ImageListing, SayingNoToSaveIsNoError) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  const RangeIndex index = list_image_folder(folder.path(), {"a"});
  EXPECT_FALSE(index.save(folder.path() / "a/1.jpg/below-a-file"));
}

TEST(ListClasses, SaysWhatIsMissing) {
  const TempFolder folder;
  folder.write("1.jpg", "x");
  for (const fs::path& root : {folder.path(), folder.path() / "absent"}) {
    try {
      list_classes(root);
      FAIL();
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(root.string()));
    }
  }
}

TEST(ImageListing, TakesEveryKindOfImageThatTorchvisionTakes) {
  for (const char* const name :
       {"a.jpg", "a.JPEG", "a.png", "a.webp", "a.bmp", "a.tif", "a.TIFF", "a.ppm", "a.pgm"})
    EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* const name : {"a.txt", "jpg", "a.jpg.part", "a.gif"})
    EXPECT_FALSE(is_image_name(name)) << name;
}

TEST(ImageListing, CountsAndNamesWhatItLeavesOut) {
  const TempFolder folder;
  folder.write("set/a/1.jpg", "x");
  folder.write("set/a/deep/notes.txt", "x");
  folder.write("set/a/.hidden", "x");
  folder.write("set/b/2.webp", "x");
  fs::create_symlink("nowhere.jpg", folder.path() / "set/b/3.jpg");
  const fs::path set = folder.path() / "set";
  const RangeIndex index = list_image_folder(set, list_classes(set));
  EXPECT_THAT(paths_of(index, set), ElementsAre("a/1.jpg", "b/2.webp"));
  EXPECT_EQ(index.left_out().count, 2);
  EXPECT_EQ(index.left_out().first, "a/deep/notes.txt, b/3.jpg (a link to nothing)");
  age_folders(set);
  const RangeIndex aged = list_image_folder(set, list_classes(set));
  ASSERT_TRUE(aged.save(folder.path() / "index"));
  const auto loaded = load_image_folder(folder.path() / "index", set, list_classes(set));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->left_out().count, 2);
  EXPECT_EQ(loaded->left_out().first, index.left_out().first);
  EXPECT_EQ(loaded->left_out().folder, set.string());
}

TEST(ImageListing, AllEmptyClassesAreNamedAtOnce) {
  const TempFolder folder;
  for (const char* const name : {"a/1.jpg", "b/deep/readme.txt", "c/readme.txt"})
    folder.write(name, "x");
  EXPECT_THAT(
      [&] {
        list_image_folder(folder.path(), {"a", "b", "c"});
      },
      ThrowsMessage<base::DataError>(
          AllOf(HasSubstr(folder.path().string()), HasSubstr("these classes: b, c;"))));
}

TEST(ImageListing, TakesImagesOfHiddenFolders) {
  const TempFolder folder;
  for (const char* const name : {"a/2.jpg", "a/deep/1.png", "a/.hidden/0.jpg"})
    folder.write(name, "x");
  EXPECT_THAT(paths_of(list_image_folder(folder.path(), {"a"}), folder.path()),
              ElementsAre("a/2.jpg", "a/.hidden/0.jpg", "a/deep/1.png"));
}

TEST(ImageListing, WhatCannotBeLookedAtIsAnError) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  fs::create_symlink("3.jpg", folder.path() / "a/2.jpg");
  fs::create_symlink("2.jpg", folder.path() / "a/3.jpg");
  EXPECT_THAT(
      [&] { list_image_folder(folder.path(), {"a"}); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr(".jpg"), HasSubstr("symbolic links"))));
}

TEST(ImageListing, AStopEndsIt) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  base::Interruption interruption;
  interruption.request(SIGTERM);
  const auto storage = make_storage({}, &interruption);
  ListingProgress progress("x", *storage);
  EXPECT_THROW(list_image_folder(folder.path(), {"a"}, 1, local_storage(), &progress),
               base::Interrupted);
}

}  // namespace
}  // namespace paceline::data
