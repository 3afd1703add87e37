#include "paceline/dataset_tools/ct/ct_cubes.h"

#include "paceline/base/error.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::ElementsAre;

/// Of 2 x 4 x 4 voxels from front to back, to the left and to the head.
data::CtVolume turned_volume() {
  data::CtVolume volume{.sizes = {2, 4, 4},
                        .affine = {{{0, -1, 0, 3}, {-2, 0, 0, 2}, {0, 0, 1, 0}}}};
  volume.values.resize(32);
  std::iota(volume.values.begin(), volume.values.end(), 0.0F);
  return volume;
}

TEST(CtCubes, AreOrientedAndHalved) {
  const CtCubes cubes = make_cubes(turned_volume(), {.fov_mm = 4, .sides = {4, 2, 1}}, "scan");
  EXPECT_THAT(cubes.sizes, ElementsAre(4, 2, 4));
  EXPECT_THAT(cubes.spacing_mm, ElementsAre(1, 2, 1));
  EXPECT_EQ(cubes.affine, (volume::Affine{{{1, 0, 0, 0}, {0, 1, 0, -0.5}, {0, 0, 1, 0}}}));
  ASSERT_EQ(cubes.values.size(), 3);
  // z 0: i counts from the front, so the back, y 0, is i 1; x 0 is j 3.
  EXPECT_THAT(std::vector(cubes.values[0].begin(), cubes.values[0].begin() + 4),
              ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(std::vector(cubes.values[0].begin() + 12, cubes.values[0].begin() + 16),
              ElementsAre(6, 4, 2, 0));
  EXPECT_THAT(cubes.values[2], ElementsAre(16));  // 15.5
  EXPECT_EQ(cubes.values[1].size(), 8);
  EXPECT_EQ(cubes.bytes(1).size(), 16);
}

TEST(CtCubes, MaySkipSides) {
  const CtCubes cubes = make_cubes(turned_volume(), {.fov_mm = 4, .sides = {4, 1}}, "scan");
  ASSERT_EQ(cubes.values.size(), 2);
  EXPECT_THAT(cubes.values[1], ElementsAre(16));
}

TEST(CtCubes, RefuseTiltedScans) {
  data::CtVolume volume = turned_volume();
  volume.affine[2][0] = 0.5;
  EXPECT_THAT([&] { make_cubes(volume, {.fov_mm = 4, .sides = {4}}, "patient 7"); },
              ::testing::ThrowsMessage<base::DataError>(::testing::StartsWith("patient 7: axes")));
}

}  // namespace
}  // namespace paceline::dataset_tools
