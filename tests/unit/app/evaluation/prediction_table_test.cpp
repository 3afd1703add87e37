#include "paceline/app/evaluation/prediction_table.h"

#include "paceline/data/sources/image_files.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(PredictionTable, HasALineForEachSample) {
  const paceline::test::TempFolder folder;
  const auto dataset = data::open_image_files({"a.jpg", "b,\"c\".jpg"});
  const train::SampleRecords records{
      at::tensor({0, 1}, at::kLong), at::tensor({1, -1}, at::kLong),
      at::tensor({0.25, 2.0}, at::kDouble), at::tensor({1, 0, 2, 1}, at::kLong).view({2, 2}),
      at::tensor({0.75, 0.25, 0.5, 0.125}, at::kDouble).view({2, 2})};
  const std::vector<std::string> names{"cat", "big, dog"};
  paceline::test::UnsyncedFileSystem files;
  const auto path = folder.write("out.csv", "an older one");
  write_prediction_table(files, path, records, *dataset, names);
  EXPECT_EQ(base::read_file(path),
            "index,sample,label,class,loss,told,told_class,probability,told_2,told_2_class,"
            "probability_2\n"
            "0,a.jpg,1,\"big, dog\",0.25,1,\"big, dog\",0.75,0,cat,0.25\n"
            "1,\"b,\"\"c\"\".jpg\",-1,,2,2,2,0.5,1,\"big, dog\",0.125\n");
}

}  // namespace
}  // namespace paceline::app
