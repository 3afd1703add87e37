#include "paceline/dataset_tools/ct/orient.h"

#include "paceline/base/error.h"

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// k leans towards j by so many degrees.
volume::Affine tilted_affine(double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  return {{{-1, 0, 0, 5}, {0, 2, 3 * std::sin(angle), 6}, {0, 0, 3 * std::cos(angle), 7}}};
}

TEST(Orient, MeasuresSpacingAlongTheAxes) {
  const auto [x, y, z] = spacing_of(tilted_affine(30));
  EXPECT_DOUBLE_EQ(x, 1);
  EXPECT_DOUBLE_EQ(y, 2);
  EXPECT_DOUBLE_EQ(z, 3);
}

TEST(Orient, RefusesATiltedGantry) {
  EXPECT_NO_THROW(require_right_angles(tilted_affine(0.4), "scan"));
  for (const double tilt : {0.6, 15.0, -15.0}) {
    EXPECT_THAT([&] { require_right_angles(tilted_affine(tilt), "scan"); },
                ::testing::ThrowsMessage<base::DataError>(
                    AllOf(StartsWith("scan: axes j and k are "), HasSubstr("a tilted gantry"),
                          HasSubstr(tilt < 1 && tilt > 0 ? "0.6 degrees" : "15.0 degrees"))));
  }
}

TEST(Orient, LeavesWhatIsOrientedAsItIs) {
  data::CtVolume volume{
      .sizes = {2, 1, 1}, .affine = {{{1, 0, 0, 5}, {0, 2, 0, 6}, {0, 0, 3, 7}}}, .values = {1, 2}};
  const data::CtVolume turned = orient_to_ras(volume);
  EXPECT_EQ(turned.values, volume.values);
  EXPECT_EQ(turned.affine, volume.affine);
  EXPECT_EQ(turned.sizes, volume.sizes);
}

}  // namespace
}  // namespace paceline::dataset_tools
