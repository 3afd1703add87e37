#include "paceline/dataset_tools/ct/xray_views.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(XrayViews, HaveNamesAndAngles) {
  EXPECT_EQ(view_name(0), "frontal");
  EXPECT_EQ(view_name(90), "lateral");
  EXPECT_EQ(view_name(-22.5), "-22.5");
  for (const double angle : {0.0, 90.0, 45.0, -22.5})
    EXPECT_EQ(view_angle(view_name(angle)), angle);
  EXPECT_EQ(view_angle("90.0"), 90);
  for (const char* const word : {"", "oblique", "45x", "inf", "nan", "frontal "})
    EXPECT_EQ(view_angle(word), std::nullopt) << word;
}

TEST(XrayViews, HaveFilesOfTheirNames) {
  EXPECT_THAT(view_marks(0), ElementsAre("_pa_drr", "_pa", "_frontal"));
  EXPECT_THAT(view_marks(45), ElementsAre("_45"));
  EXPECT_EQ(expected_view_files(45), "ID_45.png (or .jpg, .tif, .dcm)");
  const std::vector<std::filesystem::path> entries{"/x/anna_45.tif", "/x/anna_lat.png",
                                                   "/x/anna_lat_drr", "/x/ben_pa.png"};
  EXPECT_EQ(find_view(entries, "anna", 45, "anna"), "/x/anna_45.tif");
  EXPECT_EQ(find_view(entries, "anna", 90, "anna"), "/x/anna_lat.png");
  EXPECT_EQ(find_view(entries, "anna", 0, "anna"), "");
  const std::vector<std::filesystem::path> both{"/x/anna_pa.dcm", "/x/anna_frontal.png"};
  EXPECT_THAT([&] { find_view(both, "anna", 0, "patient 7"); },
              ThrowsMessage<base::DataError>(
                  HasSubstr("patient 7 has 2 files for the frontal X-ray; leave one of them")));
}

}  // namespace
}  // namespace paceline::dataset_tools
