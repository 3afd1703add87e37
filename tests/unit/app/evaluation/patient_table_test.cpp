#include "paceline/app/evaluation/patient_table.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/image_files.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(PatientTable, HasALineForEachPatient) {
  const paceline::test::TempFolder folder;
  const auto dataset = data::open_image_files({"a.jpg", "b.jpg"});
  const train::PatientRecords records{
      {"psnr", "psnr_mean"},
      at::tensor({0, 1}, at::kLong),
      at::tensor({20.5, 21.0, 1e-7, 3.0}, at::kDouble).view({2, 2})};
  paceline::test::UnsyncedFileSystem files;
  const auto path = folder.write("out.csv", "an older one");
  write_patient_table(files, path, records, *dataset);
  EXPECT_EQ(base::read_file(path), fmt::format("index,patient,psnr,psnr_mean\n0,{},20.5,21\n"
                                               "1,{},1e-07,3\n",
                                               dataset->name(0), dataset->name(1)));
  EXPECT_THAT([&] { write_patient_table(files, "out.parquet", records, *dataset); },
              ThrowsMessage<base::ConfigError>(HasSubstr("name a .csv file")));
}

}  // namespace
}  // namespace paceline::app
