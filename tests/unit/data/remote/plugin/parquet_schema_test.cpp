#include "paceline/base/error.h"
#include "paceline/data/parquet/parquet_dataset.h"
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
using ::testing::ThrowsMessage;

/// A folder with a copy of a golden file.
class OneParquetFile {
 public:
  explicit OneParquetFile(const std::string& name) : name_(name) {
    std::filesystem::copy_file(std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet" / name,
                               folder_.path() / name);
  }
  std::unique_ptr<Dataset> open(const ParquetColumns& columns = {"image", "label"}) const {
    return open_parquet({folder_.path(), name_, name_, columns, {}, "parquet-train"});
  }

 private:
  paceline::test::TempFolder folder_;
  std::string name_;
};

TEST(ParquetSchema, FindsColumnsThatAreCalledOtherwise) {
  const auto dataset = OneParquetFile("other_columns.parquet").open();
  EXPECT_EQ(dataset->size(), 10);
  EXPECT_EQ(dataset->name(1), "n1_1.JPEG") << "of img.path";
  EXPECT_THAT(dataset->class_names(), ElementsAre("a", "b", "c")) << "of kind, not of size";
  EXPECT_EQ(dataset->label(1), 1);
  EXPECT_EQ(OneParquetFile("two_labels.parquet").open()->label(1), 1) << "fine_label";
}

TEST(ParquetSchema, DoesNotGuess) {
  EXPECT_THAT([] { OneParquetFile("two_images.parquet").open(); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("no column 'image'"), HasSubstr("mask.bytes"))));
  const OneParquetFile file("other_columns.parquet");
  EXPECT_THAT(
      [&] {
        file.open({"picture", "label"});
      },
      ThrowsMessage<base::DataError>(HasSubstr("no column 'picture'")))
      << "one that was named is not looked for elsewhere";
  EXPECT_THAT(
      [&] {
        file.open({"image", "class"});
      },
      ThrowsMessage<base::DataError>(
          AllOf(HasSubstr("no column 'class' of labels"), HasSubstr("kind, size"))));
}

}  // namespace
}  // namespace paceline::data
