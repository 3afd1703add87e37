#include "paceline/data/transforms/named/geometry/center_crop.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(CenterCrop, RoundsHalvesToEven) {
  // (5 - 4) / 2 = 0.5 goes to 0, (7 - 4) / 2 = 1.5 to 2.
  EXPECT_EQ(crop_of(CenterCropConfig{.size = 4}, {5, 7}, 0), (Box{0, 2, 4, 4}));
  // Three missing columns: one in front, two behind.
  EXPECT_EQ(crop_of(CenterCropConfig{.size = 6}, {6, 3}, 0), (Box{0, -1, 6, 6}));
}

TEST(CenterCrop, TakesHeightAndWidth) {
  EXPECT_EQ(crop_of(CenterCropConfig{.size = {4, 6}}, {8, 8}, 0), (Box{2, 1, 4, 6}));
}

TEST(CenterCrop, AnImageHasTwoSides) {
  CenterCropConfig config;
  config.size.lengths = {4, 4, 4};
  EXPECT_THROW(TransformConfig(config)->check(), base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
