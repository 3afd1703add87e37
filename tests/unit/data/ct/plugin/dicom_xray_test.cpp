// The plug-in hides its functions, so pictures are read through it.
#include "paceline/base/error.h"
#include "paceline/data/ct/ct_plugin.h"
#include "support/data/dicom_bytes.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using test::DicomBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// 3 x 2 pixels of 12 bits.
DicomBytes sound_xray() {
  DicomBytes file = test::ct_slice_bytes(0);
  for (const std::uint32_t tag : {0x00200032U, 0x00200037U, 0x00281052U, 0x00281053U})
    file.elements.erase(tag);
  file.text(0x00080060, "CS", "DX").number(0x00280101, 12).number(0x00280102, 11);
  return file.number(0x00280103, 0).values({0, 1000, 2000, 3000, 4000, 4095});
}

XrayPicture read_xray(const DicomBytes& file) {
  const test::TempFolder folder;
  return load_ct_plugin().read_dicom_xray(folder.write("Doe.dcm", file.bytes()), "view");
}

std::string xray_problem(const DicomBytes& file) {
  try {
    read_xray(file);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(DicomXray, GoesOverTheStoredRangeWithoutAWindow) {
  const XrayPicture picture = read_xray(sound_xray());
  EXPECT_EQ(picture.rows, 2);
  EXPECT_EQ(picture.columns, 3);
  EXPECT_THAT(picture.values,
              ElementsAre(0, 1000 / 4095.0F, 2000 / 4095.0F, 3000 / 4095.0F, 4000 / 4095.0F, 1));
}

TEST(DicomXray, AppliesTheFirstWindow) {
  DicomBytes file = sound_xray();
  file.text(0x00281050, "DS", "2000.5\\7").text(0x00281051, "DS", "2001\\9");
  EXPECT_THAT(read_xray(file).values, ElementsAre(0, 0, 0.5F, 1, 1, 1));
  file.text(0x00281056, "CS", "LINEAR_EXACT").text(0x00281050, "DS", "2000");
  file.text(0x00281051, "DS", "4000");
  EXPECT_THAT(read_xray(file).values, ElementsAre(0, 0.25F, 0.5F, 0.75F, 1, 1));
  file.text(0x00281053, "DS", "0.5").text(0x00281052, "DS", "1000");
  EXPECT_THAT(read_xray(file).values,
              ElementsAre(0.25F, 0.375F, 0.5F, 0.625F, 0.75F, static_cast<float>(3047.5 / 4000)));
}

TEST(DicomXray, InvertsMonochrome1) {
  DicomBytes file = sound_xray();
  file.text(0x00280004, "CS", "MONOCHROME1");
  EXPECT_THAT(
      read_xray(file).values,
      ElementsAre(1, static_cast<float>(1 - 1000 / 4095.0), static_cast<float>(1 - 2000 / 4095.0),
                  static_cast<float>(1 - 3000 / 4095.0), static_cast<float>(1 - 4000 / 4095.0), 0));
}

TEST(DicomXray, RefusesWhatIsNone) {
  DicomBytes file = sound_xray();
  file.text(0x00080060, "CS", "CT");
  EXPECT_THAT(xray_problem(file), HasSubstr("view: is of modality CT, expected an X-ray picture"));
  file = sound_xray();
  file.text(0x00281050, "DS", "2000");
  EXPECT_THAT(xray_problem(file), HasSubstr("only one of window center and width"));
  file.text(0x00281051, "DS", "1");
  EXPECT_THAT(xray_problem(file), HasSubstr("has a window of width 1, expected more than 1"));
  file.text(0x00281051, "DS", "10").text(0x00281056, "CS", "SIGMOID");
  EXPECT_THAT(xray_problem(file), HasSubstr("has a window of function SIGMOID"));
  file = sound_xray();
  file.text(0x00280008, "IS", "20");
  EXPECT_THAT(xray_problem(file), HasSubstr("holds 20 frames"));
}

TEST(DicomXray, FuzzedFilesGiveAPictureOrAnError) {
  const MemoryFile file;
  const std::string whole =
      sound_xray().text(0x00281050, "DS", "2000").text(0x00281051, "DS", "100").bytes();
  int pictures = 0;
  const int rounds = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = whole;
    mutate(bytes, random);
    try {
      const XrayPicture picture = load_ct_plugin().read_dicom_xray(file.write(bytes), "view");
      ++pictures;
      EXPECT_THAT(picture.values,
                  ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(1))));
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), StartsWith("view: "));
    }
  });
  EXPECT_GT(pictures, 0);
  EXPECT_LT(pictures, rounds);
}

}  // namespace
}  // namespace paceline::data
