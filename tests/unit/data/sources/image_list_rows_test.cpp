#include "paceline/data/sources/image_list_rows.h"

#include "paceline/base/error.h"
#include "paceline/data/storage/storage.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class ImageListRowsTest : public ::testing::Test {
 protected:
  ImageListRows read(const std::string& text, const ImageListConfig& config = {}) const {
    const LocalFile file(folder_.write("list.csv", text));
    ListingProgress progress("list.csv", *storage_);
    return {file, config, progress};
  }

  paceline::test::TempFolder folder_;
  std::shared_ptr<const Storage> storage_ = local_storage();
};

TEST_F(ImageListRowsTest, HoldPathsLabelsAndLines) {
  const ImageListRows rows = read("id,label\na, cat \n\n b ,dog\nc,cat\n", {.suffix = ".jpg"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows.path(0), "a.jpg");
  EXPECT_EQ(rows.path(1), "b.jpg");
  EXPECT_EQ(rows.line(1), 4);
  EXPECT_THAT(rows.label_texts(), ElementsAre("cat", "dog"));
  EXPECT_THAT(rows.labels(0), ElementsAre(0));
  EXPECT_THAT(rows.labels(1), ElementsAre(1));
  EXPECT_THAT(rows.labels(2), ElementsAre(0));
  EXPECT_FALSE(rows.has_parts());
  EXPECT_EQ(rows.part(2), RowPart::kTraining);
}

TEST_F(ImageListRowsTest, MayHaveSeveralLabelsOrNone) {
  const std::string text = "image,tags\na,x y\nb,\nc,  y  z y \n";
  const ImageListRows rows = read(text, {.label_delimiter = " "});
  EXPECT_THAT(rows.label_texts(), ElementsAre("x", "y", "z"));
  EXPECT_THAT(rows.labels(0), ElementsAre(0, 1));
  EXPECT_THAT(rows.labels(1), IsEmpty());
  EXPECT_THAT(rows.labels(2), ElementsAre(1, 2)) << "one that is named twice counts once";
  const ImageListRows longer = read("image,tags\na,\"x y, z\"\nb,z\n", {.label_delimiter = ", "});
  EXPECT_THAT(longer.label_texts(), ElementsAre("x y", "z"));
  EXPECT_THAT(read(text).label_texts(), ElementsAre("x y", "", "y  z y"));
}

TEST_F(ImageListRowsTest, TellWhatTheyAreFor) {
  const ImageListRows rows = read("path,split,label\na,val,x\nb,train,x\nc,val,x\nd,test,\n");
  EXPECT_EQ(rows.part(0), RowPart::kValidation);
  EXPECT_EQ(rows.part(1), RowPart::kTraining);
  EXPECT_EQ(rows.part(2), RowPart::kValidation);
  EXPECT_EQ(rows.part(3), RowPart::kUnused);
}

TEST_F(ImageListRowsTest, ProblemsNameFileAndLine) {
  const auto reading = [&](const std::string& text) { return [=, this] { read(text); }; };
  EXPECT_THAT(reading("path,label\n"),
              ThrowsMessage<base::DataError>(HasSubstr("list.csv: has a first line")));
  EXPECT_THAT(reading("path,label\na,x\n ,x\n"),
              ThrowsMessage<base::DataError>(HasSubstr("list.csv, line 3: the path")));
  EXPECT_THAT(reading("path,label\na,\"x\ny\"\n"),
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("line 2: the column 'label'"), HasSubstr("control character"))));
  EXPECT_THAT(reading("path,label\na,\xFF\n"),
              ThrowsMessage<base::DataError>(HasSubstr("line 2: the column 'label' is not UTF-8")));
  EXPECT_NO_THROW(read("path,label,note\na,x,\"\xFF\n\"\n")) << "what is not looked at";
}

}  // namespace
}  // namespace paceline::data
