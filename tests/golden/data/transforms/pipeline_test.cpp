#include "paceline/data/transforms/pipeline.h"

#include "paceline/data/transforms/lazy_image.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"
#include "support/data/test_images.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

Interpolation interpolation_named(const std::string& name) {
  for (const auto& [value, word] : config::EnumNames<Interpolation>::names)
    if (word == name) return value;
  return Interpolation::kBilinear;  // of a step that has none
}

/// Those of a line of sizes.tsv.
std::vector<TransformConfig> transforms_of(const std::string& text) {
  std::vector<TransformConfig> transforms;
  std::istringstream steps(text);
  for (std::string step; std::getline(steps, step, ';');) {
    std::istringstream words(step);
    std::string kind;
    std::string mode;
    ImageSize size;
    words >> kind >> size.height >> size.width >> mode;
    const config::Sides sides(size.height, size.width);
    const Interpolation interpolation = interpolation_named(mode);
    if (kind == "resize") {
      transforms.emplace_back(ResizeConfig{.size = sides, .interpolation = interpolation});
    } else if (kind == "center_crop") {
      transforms.emplace_back(CenterCropConfig{.size = sides});
    } else {
      transforms.emplace_back(
          RandomResizedCropConfig{.size = sides, .scale = {4, 4}, .interpolation = interpolation});
    }
  }
  transforms.emplace_back(NormalizeConfig{});
  return transforms;
}

std::string hash_of(const std::vector<float>& floats) {
  std::vector<std::uint8_t> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  std::uint64_t hash = 0;
  for (const std::uint8_t byte : bytes) hash = hash * 0x9E3779B97F4A7C15ull + byte + 1;
  return fmt::format("{:016x}", hash);
}

/// Without the check of settings, which refuses shares of the area above 1.
std::vector<float> run(const std::vector<TransformConfig>& transforms, const StoredSample& sample,
                       ImageSize size) {
  std::vector<float> floats(static_cast<std::size_t>(3 * size.height * size.width));
  LazyImage image;
  image.open(sample);
  Plan plan;
  base::Philox draws(0, base::DrawPurpose::kTest, 0, 0);
  ImageSize at = image.size();
  for (const TransformConfig& transform : transforms) {
    at = transform->draw(at, draws, plan);
    EXPECT_EQ(transform->fixed_size(at), at);
  }
  EXPECT_EQ(at, size);
  for (const Step& step : plan) image.apply(step);
  image.finish();
  image.write(NormalizeTable(NormalizeConfig{}),
              PixelSink{floats.data(), PixelLayout::kChannelsLast});
  return floats;
}

TEST(PipelineGolden, SizesThatAreNotSquareAndAllFiltersGiveTorchvisionsBytes) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/sizes.tsv");
  int count = 0;
  for (std::string line; std::getline(table, line); ++count) {
    std::istringstream cells(line);
    std::string file;
    std::string steps;
    std::string hash;
    ImageSize size;
    std::getline(cells, file, '\t');
    std::getline(cells, steps, '\t');
    cells >> size.height >> size.width >> hash;
    StoredSample sample;
    sample.bytes = read_bytes(std::string(PACELINE_GOLDEN_DIR) + "/transforms/images/" + file);
    EXPECT_EQ(hash_of(run(transforms_of(steps), sample, size)), hash) << file << ": " << steps;
  }
  EXPECT_EQ(count, 90);
}

}  // namespace
}  // namespace paceline::data
