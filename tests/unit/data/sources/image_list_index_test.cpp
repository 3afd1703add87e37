#include "paceline/data/sources/image_list_index.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/index/label_lists.h"
#include "support/data/cache_home.h"
#include "support/temp_folder.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ImageListIndex : public ::testing::Test {
 protected:
  void write(const std::string& text) {
    file_ = folder_.write("list.csv", text);
    fs::last_write_time(file_, fs::file_time_type::clock::now() - std::chrono::hours(++age_));
  }
  RangeIndex open(ListedSamples samples = ListedSamples::kTraining,
                  const ImageListConfig& config = {}) const {
    return open_image_list_index(file_, config, samples, local_storage());
  }
  static std::vector<std::int64_t> labels_of(const RangeIndex& index) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < index.size(); ++i) labels.push_back(index.label(i));
    return labels;
  }

  paceline::test::CacheHome cache_;
  paceline::test::TempFolder folder_;
  fs::path file_ = folder_.path() / "list.csv";
  int age_ = 0;
};

TEST_F(ImageListIndex, HoldsTheRowsInTheirOrder) {
  write("path,label\nb.jpg,dog\na.jpg,cat\nc.jpg,dog\n");
  const RangeIndex index = open();
  EXPECT_THAT(index.classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(labels_of(index), ElementsAre(1, 0, 1));
  EXPECT_EQ(index.name(0), "b.jpg");
  EXPECT_EQ(index.range(1).offset, 3u) << "the line";
}

TEST_F(ImageListIndex, IntegersAreSortedAsNumbers) {
  write("path,label\na,10\nb,9\nc,-1\nd,100\n");
  EXPECT_THAT(open().classes(), ElementsAre("-1", "9", "10", "100"));
  EXPECT_THAT(labels_of(open()), ElementsAre(2, 1, 0, 3));
  write("path,label\na,10\nb,9\nc,9x\n");
  EXPECT_THAT(open().classes(), ElementsAre("10", "9", "9x")) << "one that is none";
}

TEST_F(ImageListIndex, KeepsListsOfLabels) {
  write("path,label\na,x y\nb,\nc,z\n");
  const RangeIndex index = open(ListedSamples::kTraining, {.label_delimiter = " "});
  EXPECT_THAT(index.classes(), ElementsAre("x", "y", "z"));
  EXPECT_THAT(*name_and_labels(index.name(0)).labels, ElementsAre(0, 1));
  EXPECT_THAT(*name_and_labels(index.name(1)).labels, ElementsAre());
  EXPECT_THAT(labels_of(index), ElementsAre(0, 0, 2));
  EXPECT_THAT([&] { open(); }, ThrowsMessage<base::DataError>(
                                   AllOf(HasSubstr("list.csv, line 3: the label is empty"),
                                         HasSubstr("data.label_delimiter"))));
}

TEST_F(ImageListIndex, ValidationHasTheClassesOfTraining) {
  write("path,label,split\na,x,train\nb,y,train\nc,y,val\nd,,test\n");
  const RangeIndex index = open(ListedSamples::kValidation);
  EXPECT_THAT(index.classes(), ElementsAre("x", "y"));
  EXPECT_THAT(labels_of(index), ElementsAre(1));
  EXPECT_EQ(open().size(), 2);
  EXPECT_THAT([&] { open(ListedSamples::kValidation, {.val_split = "test"}); },
              ThrowsMessage<base::DataError>(HasSubstr("list.csv, line 5: the label is empty")));
  write("path,label,split\na,x,train\nb,y,val\n");
  EXPECT_THAT([&] { open(ListedSamples::kValidation); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("list.csv, line 3: no row for training"), HasSubstr("'y'"))));
  write("path,label,split\na,x,val\n");
  EXPECT_THAT(open(ListedSamples::kValidation).classes(), ElementsAre("x")) << "it is all there is";
}

TEST_F(ImageListIndex, PartsThatAreAbsentAreSaidToBe) {
  write("path,label\na,x\n");
  EXPECT_THAT([&] { open(ListedSamples::kValidation); },
              ThrowsMessage<AbsentPartError>(HasSubstr("list.csv: no column says which rows")));
  EXPECT_EQ(open(ListedSamples::kValidationOrAll).size(), 1);
  EXPECT_THAT([&] { open(ListedSamples::kTraining, {.val_split = "test"}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.val_split: is 'test'")));
  write("path,label,split\na,x,train\n");
  EXPECT_THAT([&] { open(ListedSamples::kValidationOrAll); },
              ThrowsMessage<AbsentPartError>(HasSubstr("no row is for validation")));
  write("path,label,split\na,x,val\n");
  EXPECT_THAT([&] { open(); }, ThrowsMessage<AbsentPartError>(HasSubstr("no row is for training")));
}

TEST_F(ImageListIndex, IsKeptUntilFileOrSettingsChange) {
  write("path,label\na,x\nb,y\n");
  const std::string fingerprint = open().fingerprint();
  const fs::path kept = folder_.path() / ".paceline-list.csv-train.index";
  ASSERT_TRUE(fs::exists(kept));
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(9);
  fs::last_write_time(kept, before);
  EXPECT_EQ(open().fingerprint(), fingerprint);
  EXPECT_EQ(fs::last_write_time(kept), before) << "it was not made again";
  EXPECT_NE(open(ListedSamples::kTraining, {.suffix = ".jpg"}).fingerprint(), fingerprint);
  EXPECT_EQ(open().fingerprint(), fingerprint);
  write("path,label\na,x\nb,x\n");
  EXPECT_NE(open().fingerprint(), fingerprint);
}

TEST_F(ImageListIndex, WhatIsNoFileIsSaidToBe) {
  EXPECT_THAT([&] { open(); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("list.csv: there is no such file"), HasSubstr("CSV"))));
  file_ = folder_.path();
  EXPECT_THAT([&] { open(); },
              ThrowsMessage<base::DataError>(HasSubstr(file_.string() + ": is a folder")));
}

}  // namespace
}  // namespace paceline::data
