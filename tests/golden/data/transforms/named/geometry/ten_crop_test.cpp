#include "paceline/data/transforms/named/geometry/ten_crop.h"

#include "paceline/data/transforms/pipeline.h"
#include "support/data/test_images.h"

#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// As make_transforms.py has it.
std::string hash_of_view(const std::vector<std::uint8_t>& pixels) {
  std::uint64_t hash = 0;
  for (const std::uint8_t value : pixels) hash = hash * 0x9E3779B97F4A7C15ull + value + 1;
  return fmt::format("{:016x}", hash);
}

TransformConfig crops_of(const std::string& kind, const config::Sides& size, bool vertical_flip) {
  if (kind == "five_crop") return FiveCropConfig{.size = size};
  return TenCropConfig{.size = size, .vertical_flip = vertical_flip};
}

TEST(TenCropGolden, ViewsAreTorchvisions) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/named/geometry/ten_crop.tsv");
  int num_views = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string file;
    std::string kind;
    std::string hash;
    ImageSize size;
    bool vertical_flip = false;
    words >> file >> kind >> size.height >> size.width >> vertical_flip;
    const TransformPipeline pipeline({crops_of(kind, {size.height, size.width}, vertical_flip)});
    const StoredSample sample = encoded_sample(file);
    TransformScratch scratch;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * size.height * size.width));
    for (int view = 0; words >> hash; ++view) {
      ASSERT_LT(view, pipeline.num_views());
      EXPECT_TRUE(pipeline.run(sample, {.view = view}, scratch, ByteSink{pixels.data()}).empty());
      EXPECT_EQ(hash_of_view(pixels), hash) << line.substr(0, 30) << ", view " << view;
      ++num_views;
    }
  }
  EXPECT_EQ(num_views, 70);
}

}  // namespace
}  // namespace paceline::data
