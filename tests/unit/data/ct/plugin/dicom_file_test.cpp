// The plug-in hides its functions, so files are read through it.
#include "paceline/base/error.h"
#include "paceline/data/ct/ct_plugin.h"
#include "support/data/dicom_bytes.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DicomFile, RefusesWhatIsCutShortAnywhere) {
  const test::TempFolder folder;
  const std::vector<std::filesystem::path> files{
      folder.write("0.dcm", test::ct_slice_bytes(7).bytes()), folder.path() / "1.dcm"};
  const std::string whole = test::ct_slice_bytes(1).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("1.dcm", whole.substr(0, size));
    try {
      load_ct_plugin().read_dicom_series(files, SeriesChoice::kOnly, "scan");
      FAIL() << size;
    } catch (const base::DataError& error) {
      ASSERT_THAT(error.what(), AllOf(StartsWith("scan, file 2 of 2: "),
                                      AnyOf(HasSubstr("is not DICOM"), HasSubstr("is cut short"),
                                            HasSubstr("no transfer syntax"),  // between elements
                                            HasSubstr("does not say its modality"),
                                            HasSubstr("has no pixel data"))))
          << size;
    }
  }
  try {
    load_ct_plugin().read_dicom_series({{folder.path() / "Doe"}}, SeriesChoice::kOnly, "scan");
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("scan, file 1 of 1: "), HasSubstr("No such file"),
                                    Not(HasSubstr("Doe"))));
  }
}

TEST(DicomFile, FuzzedFilesGiveAVolumeOrAnError) {
  const MemoryFile file;
  const test::TempFolder folder;
  std::vector<test::DicomBytes> slices{test::ct_slice_bytes(7), test::ct_slice_bytes(1),
                                       test::ct_slice_bytes(4)};
  std::array<std::string, 3> whole;
  whole[0] = slices[0].bytes();
  slices[0].syntax = "1.2.840.10008.1.2";
  whole[1] = slices[0].bytes();
  slices[0].syntax = "1.2.840.10008.1.2.5";
  slices[0].fragments = {test::rle_bytes(*slices[0].pixels)};
  whole[2] = slices[0].bytes();
  std::vector<std::filesystem::path> files{"", folder.write("1", slices[1].bytes()),
                                           folder.write("2", slices[2].bytes())};
  int volumes = 0;
  const int rounds = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = whole[random() % whole.size()];
    mutate(bytes, random);
    files[0] = file.write(bytes);
    try {
      const CtVolume volume =
          load_ct_plugin().read_dicom_series(files, SeriesChoice::kOnly, "scan");
      ++volumes;
      EXPECT_EQ(std::ssize(volume.values), volume.sizes[0] * volume.sizes[1] * volume.sizes[2]);
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), StartsWith("scan"));
    }
  });
  EXPECT_GT(volumes, 0);
  EXPECT_LT(volumes, rounds);
}

}  // namespace
}  // namespace paceline::data
