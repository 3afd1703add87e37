#include "paceline/base/error.h"
#include "paceline/data/dataset/class_alignment.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "support/data/cache_home.h"
#include "support/temp_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Through data sets, as the plug-in hides its functions.

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::filesystem::path copy_of(const std::string& name, const paceline::test::TempFolder& folder) {
  std::filesystem::copy_file(std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet" / name,
                             folder.path() / name);
  return folder.path();
}

std::unique_ptr<Dataset> open_lists(const std::filesystem::path& folder, const std::string& name) {
  return open_parquet({folder, name, name, {"image", "label"}, {}, "parquet-train"});
}

std::vector<std::int64_t> labels_of(const Dataset& dataset, std::int64_t index) {
  StoredSample sample;
  dataset.get(index, sample);
  return sample.labels;
}

TEST(ParquetLabels, ReadsListsOfIntegers) {
  const paceline::test::TempFolder folder;
  copy_of("label_lists.parquet", folder);
  for (const bool is_kept : {false, true}) {  // the index, that is
    const auto dataset = open_lists(folder.path(), "label_lists.parquet");
    SCOPED_TRACE(is_kept);
    ASSERT_EQ(dataset->size(), 10);
    EXPECT_TRUE(dataset->has_label_lists());
    EXPECT_THAT(dataset->class_names(), ElementsAre("a", "b", "c", "d", "e"));
    EXPECT_THAT(labels_of(*dataset, 0), IsEmpty());
    EXPECT_THAT(labels_of(*dataset, 1), ElementsAre(1, 3));
    EXPECT_THAT(labels_of(*dataset, 8), IsEmpty());
    EXPECT_THAT(labels_of(*dataset, 9), ElementsAre(0, 3));
    EXPECT_EQ(dataset->label(5), 2);
    EXPECT_EQ(dataset->label(4), 0) << "which it has not";
    StoredSample sample;
    dataset->get(4, sample);
    EXPECT_EQ(sample.label, kNoLabel);
    EXPECT_EQ(dataset->name(1), "n1_1.JPEG");
    EXPECT_THAT(dataset->describe(1), HasSubstr("row 1 (n1_1.JPEG)"));
  }
}

TEST(ParquetLabels, ReadsListsOfTexts) {
  const paceline::test::TempFolder folder;
  const auto dataset = open_lists(copy_of("text_lists.parquet", folder), "text_lists.parquet");
  EXPECT_THAT(dataset->class_names(), ElementsAre("ape", "cat", "dog"));
  EXPECT_THAT(labels_of(*dataset, 0), ElementsAre(2, 0));
  EXPECT_THAT(labels_of(*dataset, 1), ElementsAre(1));
  EXPECT_THAT(labels_of(*dataset, 2), IsEmpty()) << "null";
}

TEST(ParquetLabels, ListsFollowTheNamesOfOtherClasses) {
  const paceline::test::TempFolder folder;
  const auto dataset =
      align_classes(open_lists(copy_of("text_lists.parquet", folder), "text_lists.parquet"),
                    std::vector<std::string>{"dog", "cat", "ape"});
  EXPECT_TRUE(dataset->has_label_lists());
  EXPECT_THAT(labels_of(*dataset, 0), ElementsAre(0, 2));
  EXPECT_THAT(labels_of(*dataset, 2), IsEmpty());
}

TEST(ParquetLabels, NamesTheRowOfANullInAList) {
  const paceline::test::TempFolder folder;
  copy_of("null_in_list.parquet", folder);
  EXPECT_THAT([&] { open_lists(folder.path(), "null_in_list.parquet"); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("null_in_list.parquet: "), HasSubstr("row 4 has no value"))));
}

}  // namespace
}  // namespace paceline::data
