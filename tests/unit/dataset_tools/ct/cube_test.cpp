#include "paceline/dataset_tools/ct/cube.h"

#include "paceline/base/error.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

data::CtVolume cubic_volume(std::int64_t side) {
  data::CtVolume volume{.sizes = {side, side, side},
                        .affine = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}}};
  volume.values.resize(static_cast<std::size_t>(side * side * side));
  return volume;
}

TEST(Cube, OfTheSameVoxelsIsTheVolumeWithXFastest) {
  data::CtVolume volume = cubic_volume(4);
  std::iota(volume.values.begin(), volume.values.end(), 0.0F);
  const CtCube cube = resample_to_cube(volume, 4, 4);
  EXPECT_EQ(cube.values, volume.values);
  EXPECT_EQ(cube.affine, volume.affine);
}

TEST(Cube, CutsAndPadsAroundTheMiddle) {
  data::CtVolume volume = cubic_volume(4);
  std::iota(volume.values.begin(), volume.values.end(), 0.0F);
  EXPECT_THAT(resample_to_cube(volume, 2, 2).values, ElementsAre(21, 22, 25, 26, 37, 38, 41, 42));
  const CtCube padded = resample_to_cube(volume, 6, 6);
  EXPECT_EQ(padded.values[0], kAirHu);
  EXPECT_EQ(padded.values[(6 + 1) * 6 + 0], kAirHu);
  EXPECT_EQ(padded.values[(6 + 1) * 6 + 1], 0);
  EXPECT_EQ(padded.values[(6 + 1) * 6 + 4], 3);
  EXPECT_EQ(padded.values[(6 + 1) * 6 + 5], kAirHu);
  EXPECT_EQ(padded.values[(2 * 6 + 2) * 6 + 1], 20);
  EXPECT_EQ(padded.affine[2][3], -1);
}

TEST(Cube, KeepsOutWhatIsTooFineForIt) {
  data::CtVolume volume = cubic_volume(30);
  for (std::size_t i = 0; i < volume.values.size(); ++i)
    volume.values[i] = i % 2 == 0 ? 1000.0F : -1000.0F;  // stripes that change from voxel to voxel
  // Each third voxel by itself would be one of the two; the triangle leaves a ninth.
  EXPECT_THAT(resample_to_cube(volume, 30, 10).values, Each(FloatNear(0, 112)));
}

TEST(Cube, OfAConstantIsThatConstant) {
  data::CtVolume volume = cubic_volume(5);
  volume.values.assign(volume.values.size(), 123.25F);
  for (const std::int64_t side : {1, 2, 3, 7, 16})
    EXPECT_THAT(resample_to_cube(volume, 5, side).values, Each(FloatNear(123.25F, 1e-3F)));
}

TEST(Cube, IsHalvedByMeans) {
  CtCube cube{.side = 2,
              .affine = {{{1, 0, 0, 10}, {0, 1, 0, 20}, {0, 0, 1, 30}}},
              .values = {1, 2, 3, 4, 5, 6, 7, 12}};
  const CtCube half = halve(cube);
  EXPECT_EQ(half.side, 1);
  EXPECT_THAT(half.values, ElementsAre(5));
  EXPECT_EQ(half.affine, (volume::Affine{{{2, 0, 0, 10.5}, {0, 2, 0, 20.5}, {0, 0, 2, 30.5}}}));
  cube.side = 3;
  EXPECT_THROW(halve(cube), base::InternalError);
}

TEST(Cube, ValuesAreRoundedAndClamped) {
  const std::vector<float> values{0.4F, 0.5F, -0.5F, -1024.4F, -3024.0F, 40000.0F, 32766.6F};
  EXPECT_THAT(to_hounsfield(values), ElementsAre(0, 1, -1, -1024, -1024, 32767, 32767));
}

}  // namespace
}  // namespace paceline::dataset_tools
