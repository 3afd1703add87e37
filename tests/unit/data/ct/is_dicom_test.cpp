#include "paceline/data/ct/is_dicom.h"

#include "support/temp_folder.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(IsDicom, GoesByTheBeginningOrTheName) {
  const test::TempFolder folder;
  const std::string preamble(128, '\0');
  EXPECT_TRUE(is_dicom(folder.write("IM0001", preamble + "DICM and more")));
  EXPECT_TRUE(is_dicom(folder.write("1.dcm", "")));
  EXPECT_TRUE(is_dicom(folder.write("1.DCM", "")));
  EXPECT_FALSE(is_dicom(folder.write("IM0002", preamble + "DICT")));
  EXPECT_FALSE(is_dicom(folder.write("short", "DICM")));
  EXPECT_FALSE(is_dicom(folder.path() / "absent"));
}

}  // namespace
}  // namespace paceline::data
