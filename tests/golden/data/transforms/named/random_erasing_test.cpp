#include "paceline/data/transforms/named/random_erasing.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// The share of an image that the drawn boxes cover together.
double filled_share(const Transform& erasing, ImageSize image, std::uint64_t position) {
  Plan plan;
  base::Philox draws(3, base::DrawPurpose::kAugmentation, 0, position);
  erasing.draw(image, draws, plan);
  const auto num_pixels = static_cast<std::size_t>(image.height * image.width);
  std::vector<bool> is_filled(num_pixels);
  for (const Step& step : plan) {
    const Box& box = std::get<EraseStep>(step).box;
    for (int y = box.top; y < box.bottom(); ++y) {
      for (int x = box.left; x < box.right(); ++x)
        is_filled[static_cast<std::size_t>(y * image.width + x)] = true;
    }
  }
  return static_cast<double>(std::ranges::count(is_filled, true)) / static_cast<double>(num_pixels);
}

TEST(RandomErasingGolden, FillsAsMuchAsTimms) {
  constexpr int kCount = 20'000;
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/named/random_erasing.tsv");
  RandomErasingConfig config;
  ImageSize image;
  double mean = 0;
  double deviation = 0;
  double untouched = 0;
  int num_lines = 0;
  while (table >> image.height >> image.width >> config.p >> config.count[0] >> config.count[1] >>
         mean >> deviation >> untouched) {
    SCOPED_TRACE(fmt::format("{} x {}, p {}, {} to {} boxes", image.height, image.width, config.p,
                             config.count[0], config.count[1]));
    const auto erasing = make(config);
    double sum = 0;
    double squares = 0;
    int num_untouched = 0;
    for (int i = 0; i < kCount; ++i) {
      const double share = filled_share(*erasing, image, static_cast<std::uint64_t>(i));
      sum += share;
      squares += share * share;
      if (share == 0) ++num_untouched;
    }
    // Of the difference of two such means: a right one is this far off once in 20,000 times.
    const double tolerance = 4 * deviation * std::sqrt(2.0 / kCount);
    EXPECT_NEAR(sum / kCount, mean, tolerance);
    EXPECT_NEAR(std::sqrt(squares / kCount - sum / kCount * sum / kCount), deviation, tolerance);
    EXPECT_NEAR(num_untouched / static_cast<double>(kCount), untouched, 0.02);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 6);
}

}  // namespace
}  // namespace paceline::data
