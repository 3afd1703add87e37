#include "paceline/app/evaluation/prediction_parquet.h"

#include "paceline/app/evaluation/prediction_table.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/sources/image_files.h"
#include "paceline/data/storage/storage.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;

class PredictionParquet : public ::testing::Test {
 protected:
  /// What a column of the written file holds, by paceline's own reader.
  data::ParquetListing column(const std::string& name) const {
    return data::load_remote_plugin().list_parquet(std::make_shared<data::LocalFile>(path_),
                                                   {"sample", name});
  }
  void write(std::int64_t values_per_row_group) {
    const auto file = files_.create(path_);
    write_predictions_as_parquet(*file, records_, *dataset_, names_, values_per_row_group);
    file->close();
  }

  test::TempFolder folder_;
  std::string path_ = (folder_.path() / "out.Parquet").string();
  std::unique_ptr<data::Dataset> dataset_ =
      data::open_image_files({"a.jpg", "b,\"c\".jpg", "\xff.jpg"});
  train::SampleRecords records_{
      at::tensor({0, 1, 2}, at::kLong), at::tensor({1, -1, 0}, at::kLong),
      at::tensor({0.25, 2.0, 1.0}, at::kDouble),
      at::tensor({1, 0, 2, 1, 0, 1}, at::kLong).view({3, 2}),
      at::tensor({0.75, 0.25, 0.5, 0.125, 0.5, 0.25}, at::kDouble).view({3, 2})};
  std::vector<std::string> names_{"cat", "big, dog"};
  test::FaultyFileSystem files_;
};

TEST_F(PredictionParquet, IsReadBackInRowGroupsOfAnySize) {
  for (const std::int64_t values : {std::int64_t{1}, std::int64_t{22}, kValuesPerRowGroup}) {
    SCOPED_TRACE(values);
    write(values);
    const data::ParquetListing index = column("index");
    EXPECT_THAT(index.labels, ElementsAre(0, 1, 2));
    EXPECT_EQ(index.pages.size(), values == 1 ? 3U : values == 22 ? 2U : 1U) << "one a row group";
    EXPECT_THAT(column("label").labels, ElementsAre(1, -1, 0));
    EXPECT_THAT(column("told").labels, ElementsAre(1, 2, 0));
    EXPECT_THAT(column("told_2").labels, ElementsAre(0, 1, 1));
    EXPECT_THAT(column("told_class").label_texts, ElementsAre("big, dog", "2", "cat"));
    EXPECT_THAT(column("sample").label_texts,
                ElementsAre("a.jpg", "b,\"c\".jpg", "\xEF\xBF\xBD.jpg"));
    EXPECT_THROW(column("class"), base::DataError) << "the second has none";
    EXPECT_THROW(column("loss"), base::DataError) << "numbers with a fraction";
  }
}

TEST_F(PredictionParquet, OfNoSamplesHasNoRows) {
  records_ = {at::zeros({0}, at::kLong), at::zeros({0}, at::kLong), at::zeros({0}, at::kDouble),
              at::zeros({0, 2}, at::kLong), at::zeros({0, 2}, at::kDouble)};
  write(kValuesPerRowGroup);
  EXPECT_EQ(column("index").num_rows, 0);
}

TEST_F(PredictionParquet, AFullDiskLeavesTheOldFileAndIsToldAsWhatItIs) {
  write_prediction_table(files_, path_, records_, *dataset_, names_);
  const std::string whole = base::read_file(path_);
  EXPECT_EQ(whole.substr(0, 4), "PAR1") << "by its name";
  for (std::size_t room = 0; room < whole.size(); room += 7) {
    folder_.write("out.Parquet", "an older one");
    files_.fill_disk_after(room);
    try {
      write_prediction_table(files_, path_, records_, *dataset_, names_);
      ADD_FAILURE() << "written with room for " << room << " bytes";
    } catch (const base::FileError& error) {
      EXPECT_EQ(error.error_number(), ENOSPC);
    }
    EXPECT_EQ(base::read_file(path_), "an older one");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  }
}

}  // namespace
}  // namespace paceline::app
