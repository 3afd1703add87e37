#include "paceline/data/transforms/plan.h"

#include "paceline/data/transforms/named/geometry/random_resized_crop.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

// Shares of the area above 1 make every attempt fail.
TEST(PlanGolden, RandomResizedCropFallsBackToTorchvisionsBox) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/fallback_boxes.tsv");
  RandomResizedCropConfig config = {.size = 8, .scale = {4.0, 4.0}};
  ImageSize image;
  Box expected;
  int count = 0;
  while (table >> image.width >> image.height >> config.ratio[0] >> config.ratio[1] >>
         expected.top >> expected.left >> expected.height >> expected.width) {
    Plan plan;
    base::Philox draws(1, base::DrawPurpose::kAugmentation, 0, 0);
    draw_steps(config, image, draws, plan);
    EXPECT_EQ(std::get<CropStep>(plan.at(0)).box, expected) << image.width << " x " << image.height;
    ++count;
  }
  EXPECT_EQ(count, 24);
}

}  // namespace
}  // namespace paceline::data
