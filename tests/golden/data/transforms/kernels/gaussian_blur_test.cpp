#include "paceline/data/transforms/kernels/gaussian_blur.h"

#include "paceline/data/transforms/lazy_image.h"
#include "support/data/test_images.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& name, const Plan& plan) {
  StoredSample sample;
  sample.bytes = read_bytes(std::string(PACELINE_GOLDEN_DIR) + "/transforms/" + name);
  LazyImage image;
  image.open(sample);
  for (const Step& step : plan) image.apply(step);
  std::vector<std::uint8_t> bytes(std::size_t{3} * static_cast<std::size_t>(image.size().height) *
                                  static_cast<std::size_t>(image.size().width));
  EXPECT_TRUE(image.write(ByteSink{bytes.data()}).empty());
  return bytes;
}

// Sums in another order differ where a mean lies next to a half.
TEST(GaussianBlurGolden, IsTorchvisionsButForRounding) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/blurred.tsv");
  std::string source;
  std::string result;
  GaussianBlurStep step;
  int count = 0;
  for (;
       table >> source >> step.kernel_size.width >> step.kernel_size.height >> step.sigma >> result;
       ++count) {
    const std::vector<std::uint8_t> expected = bytes_of("blurred/" + result, {});
    const std::vector<std::uint8_t> blurred = bytes_of("images/" + source, {step});
    ASSERT_EQ(blurred.size(), expected.size());
    std::size_t num_different = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(std::abs(blurred[i] - expected[i]), 1) << result << " " << i;
      num_different += blurred[i] != expected[i];
    }
    EXPECT_LE(num_different, expected.size() / 5000) << result;
  }
  EXPECT_EQ(count, 6);
}

}  // namespace
}  // namespace paceline::data
