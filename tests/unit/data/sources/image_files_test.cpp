#include "paceline/data/sources/image_files.h"

#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ImageFilesTest : public ::testing::Test {
 protected:
  ImageFilesTest() {
    for (const char* name : {"b.jpg", "a/2.PNG", "a/1.jpeg", "a/deep/0.webp", "a/notes.txt",
                             "a/.hidden.jpg", "a/.cache/3.jpg", "[x].jpg"})
      folder_.write(name, name);
  }
  /// Relative to the folder.
  std::vector<std::string> find(const std::vector<std::string>& words) const {
    std::vector<std::string> full;
    for (const std::string& word : words) full.push_back((folder_.path() / word).string());
    std::vector<std::string> names;
    for (const auto& file : find_image_files(full))
      names.push_back(file.lexically_relative(folder_.path()).string());
    return names;
  }
  TempFolder folder_;
};

TEST_F(ImageFilesTest, AFolderStandsForTheImagesBelowIt) {
  EXPECT_THAT(find({"b.jpg", "a"}), ElementsAre("b.jpg", "a/1.jpeg", "a/2.PNG", "a/deep/0.webp"));
}

TEST_F(ImageFilesTest, APatternStandsForWhatItFindsUnlessItIsAFile) {
  EXPECT_THAT(find({"a/*.[jP]*"}), ElementsAre("a/1.jpeg", "a/2.PNG"));
  EXPECT_THAT(find({"?"}), ElementsAre("a/1.jpeg", "a/2.PNG", "a/deep/0.webp"));
  EXPECT_THAT(find({"[x].jpg"}), ElementsAre("[x].jpg"));
}

TEST_F(ImageFilesTest, WhatIsNotThereIsFoundOutWhenItIsRead) {
  const auto dataset = open_image_files({folder_.path() / "gone.jpg", folder_.path() / "b.jpg"});
  ASSERT_EQ(dataset->size(), 2);
  StoredSample sample;
  EXPECT_THAT([&] { dataset->get(0, sample); }, ThrowsMessage<base::DataError>(HasSubstr("gone")));
  dataset->get(1, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "b.jpg");
  EXPECT_EQ(sample.label, -1);
  EXPECT_EQ(dataset->num_classes(), 0);
  EXPECT_EQ(dataset->describe(1), (folder_.path() / "b.jpg").string());
}

TEST_F(ImageFilesTest, AFolderOrPatternWithoutImagesIsRefused) {
  std::filesystem::create_directory(folder_.path() / "empty");
  EXPECT_THAT([&] { find({"empty"}); },
              ThrowsMessage<base::DataError>(HasSubstr("no image is in this folder")));
  EXPECT_THAT([&] { find({"*.gif"}); },
              ThrowsMessage<base::DataError>(HasSubstr("no file is found by this pattern")));
}

TEST_F(ImageFilesTest, TheFingerprintIsThatOfTheList) {
  const auto of = [](std::vector<std::filesystem::path> files) {
    return open_image_files(std::move(files))->fingerprint();
  };
  EXPECT_EQ(of({"a", "b"}), of({"a", "b"}));
  EXPECT_NE(of({"a", "b"}), of({"b", "a"}));
  EXPECT_NE(of({"ab"}), of({"a", "b"}));
}

}  // namespace
}  // namespace paceline::data
