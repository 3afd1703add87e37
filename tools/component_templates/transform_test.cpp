#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/new_part.h"
#include "paceline/data/transforms/pipeline.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<std::uint8_t> bytes_after(const NewPartConfig& config) {
  StoredSample sample;
  sample.width = sample.height = 8;
  sample.bytes.assign(3 * 8 * 8, 100);
  const TransformPipeline pipeline({config, CenterCropConfig{.size = 8}});
  TransformScratch scratch;
  std::vector<std::uint8_t> bytes(3 * 8 * 8);
  EXPECT_TRUE(pipeline.run(sample, {1, 2, 3}, scratch, ByteSink{bytes.data()}).empty());
  return bytes;
}

TEST(NewPart, ChangesImagesWithItsProbability) {
  EXPECT_EQ(bytes_after({.p = 1.0, .factor = 0.5}), std::vector<std::uint8_t>(3 * 8 * 8, 50));
  EXPECT_EQ(bytes_after({.p = 0.0}), std::vector<std::uint8_t>(3 * 8 * 8, 100));
}

}  // namespace
}  // namespace paceline::data
