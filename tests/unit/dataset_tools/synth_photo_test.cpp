#include "paceline/dataset_tools/synth_photo.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

constexpr int kManyPlans = 300;

std::vector<PhotoPlan> draw_plans(std::uint64_t seed, std::int64_t first) {
  std::vector<PhotoPlan> plans;
  for (int i = 0; i < kManyPlans; ++i) plans.push_back(plan_photo(seed, first + i));
  return plans;
}

TEST(PhotoPlan, AnyThreeHundredHaveTheMixOfAll) {
  for (const std::int64_t first : {0, 77, 1'000'000'000}) {
    double megapixels = 0;
    std::map<JpegSampling, int> samplings;
    std::map<int, int> qualities;
    int common_size = 0;
    for (const PhotoPlan& plan : draw_plans(3, first)) {
      megapixels += 1e-6 * plan.width * plan.height;
      ++samplings[plan.sampling];
      ++qualities[plan.quality];
      if (plan.width == 500 && plan.height == 375) ++common_size;
    }
    EXPECT_NEAR(megapixels / kManyPlans, 0.2017, 0.01);
    EXPECT_NEAR(samplings[JpegSampling::k444], 0.76 * kManyPlans, 3);
    EXPECT_NEAR(samplings[JpegSampling::k420], 0.205 * kManyPlans, 3);
    EXPECT_NEAR(samplings[JpegSampling::kGrey], 0.023 * kManyPlans, 3);
    EXPECT_NEAR(samplings[JpegSampling::k422], 0.012 * kManyPlans, 3);
    EXPECT_NEAR(qualities[96], 0.655 * kManyPlans, 3);
    EXPECT_GE(qualities.begin()->first, 75);
    EXPECT_LT(qualities.begin()->first, 80);
    EXPECT_NEAR(common_size, 0.21 * kManyPlans, 5);
  }
}

TEST(PhotoPlan, IsAFunctionOfSeedAndNumber) {
  const auto sizes = [](std::uint64_t seed) {
    std::vector<int> all;
    for (const PhotoPlan& plan : draw_plans(seed, 0)) all.push_back(plan.width * plan.height);
    return all;
  };
  EXPECT_EQ(sizes(1), sizes(1));
  EXPECT_NE(sizes(1), sizes(2));
}

TEST(Photo, DiffersByClassSeedAndNumberAlone) {
  const PhotoPlan plan{.width = 37, .height = 21, .quality = 90, .contrast = 1};
  const data::Image image = synthesize_photo(plan, 3, 1, 5);
  EXPECT_EQ(image.width, 37);
  EXPECT_EQ(image.height, 21);
  EXPECT_EQ(image.pixels.size(), 37u * 21 * 3);
  EXPECT_EQ(image.pixels, synthesize_photo(plan, 3, 1, 5).pixels);
  EXPECT_NE(image.pixels, synthesize_photo(plan, 4, 1, 5).pixels);
  EXPECT_NE(image.pixels, synthesize_photo(plan, 3, 2, 5).pixels);
  EXPECT_NE(image.pixels, synthesize_photo(plan, 3, 1, 6).pixels);
}

TEST(Photo, KnowsSidesOfOnePixel) {
  const PhotoPlan plan{.width = 1, .height = 9, .quality = 90, .contrast = 1};
  EXPECT_EQ(synthesize_photo(plan, 0, 1, 0).pixels.size(), 27u);
}

}  // namespace
}  // namespace paceline::dataset_tools
