#include "paceline/data/index/image_index.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> paths_of(const ImageIndex& index) {
  std::vector<std::string> paths;
  for (std::int64_t i = 0; i < index.size(); ++i) paths.push_back(index.path(i));
  return paths;
}

/// Makes all folders look an hour old, so that they count as settled.
void age_folders(const fs::path& root) {
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root, hour_ago);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) fs::last_write_time(entry.path(), hour_ago);
  }
}

TEST(ImageIndex, OrdersAndLabelsAsTorchvisionDoes) {
  const TempFolder folder;
  for (const char* name : {"b/2.jpg", "b/10.JPEG", "b/sub/1.png", "b/sub-a/1.png", "b/A.PNG",
                           "a/x.Jpg", "a/notes.txt", "a/x.webp", "B/1.jpg", "loose.jpg"}) {
    folder.write(name, "x");
  }
  const auto classes = list_classes(folder.path());
  EXPECT_THAT(classes, ElementsAre("B", "a", "b"));
  const ImageIndex index = ImageIndex::list(folder.path(), classes, 3);
  EXPECT_THAT(paths_of(index), ElementsAre("B/1.jpg", "a/x.Jpg", "a/x.webp", "b/10.JPEG", "b/2.jpg",
                                           "b/A.PNG", "b/sub/1.png", "b/sub-a/1.png"));
  EXPECT_EQ(index.label(0), 0);
  EXPECT_EQ(index.label(1), 1);
  EXPECT_EQ(index.label(7), 2);
}

TEST(ImageIndex, LabelsFollowTheGivenClasses) {
  const TempFolder folder;
  folder.write("c/1.jpg", "x");
  EXPECT_EQ(ImageIndex::list(folder.path(), {"a", "b", "c"}).label(0), 2);
  try {
    ImageIndex::list(folder.path(), {"a", "b"});
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no class 'c'"));
  }
}

TEST(ImageIndex, FollowsLinksButNotInCircles) {
  const TempFolder folder;
  folder.write("store/1.jpg", "x");
  folder.write("set/a/2.jpg", "x");
  fs::create_directory_symlink(folder.path() / "store", folder.path() / "set/b");
  const fs::path set = folder.path() / "set";
  EXPECT_THAT(paths_of(ImageIndex::list(set, list_classes(set))),
              ElementsAre("a/2.jpg", "b/1.jpg"));
  fs::create_directory_symlink(set / "a", set / "a/again");
  EXPECT_THROW(ImageIndex::list(set, list_classes(set)), base::DataError);
}

TEST(ImageIndex, FingerprintChangesWithNamesSizesAndLabels) {
  const auto fingerprint = [](const char* name, const char* content,
                              const std::vector<std::string>& classes) {
    const TempFolder folder;
    folder.write(name, content);
    return ImageIndex::list(folder.path(), classes).fingerprint();
  };
  const std::string base = fingerprint("a/1.jpg", "x", {"a"});
  EXPECT_EQ(base, fingerprint("a/1.jpg", "x", {"a"}));
  EXPECT_NE(base, fingerprint("a/2.jpg", "x", {"a"}));
  EXPECT_NE(base, fingerprint("a/1.jpg", "xx", {"a"}));
  EXPECT_NE(base, fingerprint("a/1.jpg", "x", {"a", "b"}));
}

class SavedIndex : public ::testing::Test {
 protected:
  SavedIndex() {
    for (const char* name : {"set/a/1.jpg", "set/a/in/2.jpg", "set/b/3.jpg"})
      folder_.write(name, "x");
    age_folders(root_);
    const ImageIndex index = ImageIndex::list(root_, classes_);
    fingerprint_ = index.fingerprint();
    EXPECT_TRUE(index.is_settled());
    EXPECT_TRUE(index.save(file_));
  }

  TempFolder folder_;
  const fs::path root_ = folder_.path() / "set";
  const fs::path file_ = folder_.path() / "cache/set.index";
  const std::vector<std::string> classes_ = {"a", "b"};
  std::string fingerprint_;
};

TEST_F(SavedIndex, ComesBackTheSame) {
  const auto index = ImageIndex::load(file_, root_, classes_);
  ASSERT_TRUE(index);
  EXPECT_THAT(paths_of(*index), ElementsAre("a/1.jpg", "a/in/2.jpg", "b/3.jpg"));
  EXPECT_EQ(index->label(2), 1);
  EXPECT_EQ(index->fingerprint(), fingerprint_);
}

TEST_F(SavedIndex, IsStaleWhenAFileIsAddedDeepInside) {
  folder_.write("set/a/in/4.jpg", "x");
  EXPECT_FALSE(ImageIndex::load(file_, root_, classes_));
}

TEST_F(SavedIndex, IsStaleWhenAClassIsAddedOrGoes) {
  folder_.write("set/c/1.jpg", "x");
  EXPECT_FALSE(ImageIndex::load(file_, root_, classes_));
  fs::remove_all(root_ / "c");
  fs::remove_all(root_ / "b");
  EXPECT_FALSE(ImageIndex::load(file_, root_, classes_));
}

TEST_F(SavedIndex, IsStaleForOtherClasses) {
  EXPECT_FALSE(ImageIndex::load(file_, root_, {"a", "b", "c"}));
}

TEST_F(SavedIndex, IsIgnoredWhenDamagedOrAbsent) {
  EXPECT_FALSE(ImageIndex::load(folder_.path() / "absent", root_, classes_));
  EXPECT_FALSE(ImageIndex::load(folder_.path(), root_, classes_));
  const std::string whole = base::read_file(file_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    std::ofstream(file_, std::ios::binary) << damaged;
    EXPECT_FALSE(ImageIndex::load(file_, root_, classes_)) << at;
    std::ofstream(file_, std::ios::binary) << whole.substr(0, at);
    EXPECT_FALSE(ImageIndex::load(file_, root_, classes_)) << at;
  }
}

TEST(ImageIndex, FreshFoldersAreNotSettled) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  EXPECT_FALSE(ImageIndex::list(folder.path(), {"a"}).is_settled());
}

TEST(ImageIndex, SayingNoToSaveIsNoError) {
  const TempFolder folder;
  folder.write("a/1.jpg", "x");
  const ImageIndex index = ImageIndex::list(folder.path(), {"a"});
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

TEST(ImageIndex, TakesEveryKindOfImageThatTorchvisionTakes) {
  for (const char* const name :
       {"a.jpg", "a.JPEG", "a.png", "a.webp", "a.bmp", "a.tif", "a.TIFF", "a.ppm", "a.pgm"})
    EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* const name : {"a.txt", "jpg", "a.jpg.part", "a.gif"})
    EXPECT_FALSE(is_image_name(name)) << name;
}

TEST(ImageIndex, CountsAndNamesWhatItLeavesOut) {
  const TempFolder folder;
  folder.write("set/a/1.jpg", "x");
  folder.write("set/a/deep/notes.txt", "x");
  folder.write("set/a/.hidden", "x");
  folder.write("set/b/2.webp", "x");
  fs::create_symlink("nowhere.jpg", folder.path() / "set/b/3.jpg");
  const fs::path set = folder.path() / "set";
  const ImageIndex index = ImageIndex::list(set, list_classes(set));
  EXPECT_THAT(paths_of(index), ElementsAre("a/1.jpg", "b/2.webp"));
  EXPECT_EQ(index.num_left_out(), 2);
  EXPECT_EQ(index.left_out(), "a/deep/notes.txt, b/3.jpg (a link to nothing)");
  age_folders(set);
  const ImageIndex aged = ImageIndex::list(set, list_classes(set));
  ASSERT_TRUE(aged.save(folder.path() / "index"));
  const auto loaded = ImageIndex::load(folder.path() / "index", set, list_classes(set));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->num_left_out(), 2);
  EXPECT_EQ(loaded->left_out(), index.left_out());
}

}  // namespace
}  // namespace paceline::data
