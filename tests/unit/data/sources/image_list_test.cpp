#include "paceline/data/sources/image_list.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/class_alignment.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ImageListTest : public ::testing::Test {
 protected:
  ImageListTest() {
    for (const char* name : {"a", "b", "c", "d"})
      folder_.write(fmt::format("images/{}.jpg", name), fmt::format("image {}", name));
  }

  ImageListConfig config(const std::string& text, const std::string& name = "list.csv") const {
    return {.path = folder_.write(name, text).string()};
  }

  static std::string bytes_of(const Dataset& dataset, std::int64_t index) {
    StoredSample sample;
    sample.width = 7;  // of another sample before
    dataset.get(index, sample);
    EXPECT_EQ(sample.width, 0);
    return {sample.bytes.begin(), sample.bytes.end()};
  }

  paceline::test::CacheHome cache_;
  paceline::test::TempFolder folder_;
};

TEST_F(ImageListTest, GivesTheBytesOfTheFilesThatItNames) {
  const auto list = open(config("image,label\nimages/b.jpg,dog\nimages/../images/a.jpg,cat\n" +
                                (folder_.path() / "images/c.jpg").string() + ",dog\n"),
                         Split::kTrain);
  ASSERT_EQ(list->size(), 3);
  EXPECT_THAT(list->class_names(), ElementsAre("cat", "dog"));
  EXPECT_FALSE(list->has_label_lists());
  EXPECT_EQ(bytes_of(*list, 0), "image b");
  EXPECT_EQ(bytes_of(*list, 1), "image a");
  EXPECT_EQ(bytes_of(*list, 2), "image c");
  EXPECT_EQ(list->label(0), 1);
  EXPECT_EQ(list->name(0), "images/b.jpg");
  EXPECT_EQ(list->describe(0), (folder_.path() / "images/b.jpg").string());
}

TEST_F(ImageListTest, PathsAreOfTheRootAndMayLackAnEnding) {
  ImageListConfig ids = config("id,breed\na,x\nb,y\n");
  ids.root = (folder_.path() / "images").string();
  ids.suffix = ".jpg";
  const auto list = open(ids, Split::kTrain);
  EXPECT_EQ(bytes_of(*list, 1), "image b");
  EXPECT_EQ(list->name(1), "b.jpg");
}

TEST_F(ImageListTest, SplitsByItsColumn) {
  const ImageListConfig both = config(
      "path,label,is_valid\nimages/a.jpg,x,False\nimages/b.jpg,y,False\nimages/c.jpg,y,True\n");
  EXPECT_EQ(open(both, Split::kTrain)->size(), 2);
  const auto val = open(both, Split::kVal);
  ASSERT_EQ(val->size(), 1);
  EXPECT_EQ(val->label(0), 1);
  EXPECT_EQ(bytes_of(*val, 0), "image c");
}

TEST_F(ImageListTest, TakesValidationImagesFromAnotherList) {
  const auto plan = make(config("path,label\nimages/a.jpg,x\nimages/b.jpg,y\n"));
  EXPECT_THROW(plan->open(Split::kVal, local_storage(), std::nullopt), AbsentPartError);
  const auto other = folder_.write("images/val.csv", "path,label\nc.jpg,y\n").string();
  auto val = plan->open(Split::kVal, local_storage(), other);
  EXPECT_EQ(bytes_of(*val, 0), "image c") << "its paths are of its own folder";
  const auto train = plan->open(Split::kTrain, local_storage(), other);
  EXPECT_EQ(train->size(), 2);
  val = align_classes(std::move(val), train->class_names());
  EXPECT_EQ(val->label(0), 1);
  EXPECT_THROW(plan->open(Split::kVal, local_storage(), other + ".gone"), base::DataError);
}

TEST_F(ImageListTest, RowsMayHaveSeveralClassesOrNone) {
  ImageListConfig several = config("path,tags\nimages/a.jpg,x|z\nimages/b.jpg,\nimages/c.jpg,y\n");
  several.label_delimiter = "|";
  const auto list = open(several, Split::kTrain);
  EXPECT_TRUE(list->has_label_lists());
  EXPECT_EQ(list->num_classes(), 3);
  StoredSample sample;
  list->get(0, sample);
  EXPECT_EQ(sample.label, 0);
  EXPECT_THAT(sample.labels, ElementsAre(0, 2));
  list->get(1, sample);
  EXPECT_EQ(sample.label, kNoLabel);
  EXPECT_THAT(sample.labels, ElementsAre());
  EXPECT_EQ(list->label(1), 0);
  EXPECT_EQ(list->name(0), "images/a.jpg");
}

TEST_F(ImageListTest, ListsOfFewerClassesAreAsLongAsThoseOfTraining) {
  ImageListConfig some = config("path,tags\nimages/a.jpg,x\nimages/b.jpg,y|x\n");
  some.label_delimiter = "|";
  const auto aligned =
      align_classes(open(some, Split::kTrain), std::vector<std::string>{"x", "y", "z"});
  EXPECT_EQ(aligned->num_classes(), 3);
  EXPECT_TRUE(aligned->has_label_lists());
}

TEST_F(ImageListTest, WithoutAnyLabelIsRefused) {
  ImageListConfig none = config("path,tags\nimages/a.jpg,\nimages/b.jpg,\n");
  none.label_delimiter = "|";
  EXPECT_THAT([&] { open(none, Split::kTrain); },
              ::testing::ThrowsMessage<base::DataError>(
                  ::testing::HasSubstr("no row has a label; name the column of labels")));
}

TEST_F(ImageListTest, ImagesThatAreMissingAreNamedWithTheirLine) {
  const auto list = open(config("path,label\nimages/a.jpg,x\nimages/gone.jpg,x\n"), Split::kTrain);
  EXPECT_EQ(bytes_of(*list, 0), "image a");
  EXPECT_THAT([&] { bytes_of(*list, 1); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("list.csv, line 3: "),
                                                   HasSubstr("images/gone.jpg"),
                                                   HasSubstr("No such file"))));
}

TEST_F(ImageListTest, OfAnotherMachineIsTheSame) {
  const ImageListConfig here = config("path,label\nimages/a.jpg,x\nimages/b.jpg,y\n");
  const auto storage = paceline::test::copy_of(folder_.path(), "s3://b/set");
  const auto there = open(ImageListConfig{.path = "s3://b/set/list.csv"}, Split::kTrain, storage);
  paceline::test::expect_same_samples(*there, *open(here, Split::kTrain));
  EXPECT_EQ(there->describe(0), "s3://b/set/images/a.jpg");
  const int lists = storage->num_reads;
  open(ImageListConfig{.path = "s3://b/set/list.csv"}, Split::kTrain, storage);
  EXPECT_EQ(storage->num_reads, lists) << "the index was not kept";
}

TEST_F(ImageListTest, MayListImagesOfOtherPlaces) {
  const auto storage = std::make_shared<paceline::test::FakeStorage>();
  storage->files["s3://b/list.csv"] = "path,label\nhttps://host/x.jpg,x\nfile://" +
                                      (folder_.path() / "images/a.jpg").string() + ",y\n";
  storage->files["https://host/x.jpg"] = "far";
  const auto list = open(ImageListConfig{.path = "s3://b/list.csv"}, Split::kTrain, storage);
  EXPECT_EQ(bytes_of(*list, 0), "far");
  EXPECT_EQ(list->describe(1), (folder_.path() / "images/a.jpg").string());
}

}  // namespace
}  // namespace paceline::data
