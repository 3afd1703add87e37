#include "paceline/data/transforms/kernels/displacement.h"

#include "paceline/data/transforms/lazy_image.h"
#include "support/data/test_images.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

struct OpenImage {
  LazyImage image;
  std::vector<std::uint8_t> bytes;

  explicit OpenImage(const std::string& name) {
    StoredSample sample;
    sample.bytes = read_bytes(std::string(PACELINE_GOLDEN_DIR) + "/transforms/" + name);
    image.open(sample);
    bytes.resize(static_cast<std::size_t>(3 * image.size().height * image.size().width));
    EXPECT_TRUE(image.write(ByteSink{bytes.data()}).empty());
  }
};

/// make_augmentations.py's waves.
void fill_with_waves(const FloatField& field, float height, float length) {
  for (int y = 0; y < field.size.height; ++y)
    for (int x = 0; x < field.size.width; ++x)
      field.row(y)[x] = height * static_cast<float>(std::sin((2.0 * x + 3.0 * y) / length));
}

// Sums in another order and places in other units differ where a mean lies next to a half.
TEST(DisplacementGolden, IsTorchvisionsButForRounding) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/displaced.tsv");
  std::string source;
  std::string mode;
  std::string result;
  std::array<int, 3> fill;
  int count = 0;
  for (; table >> source >> mode >> fill[0] >> fill[1] >> fill[2] >> result; ++count) {
    const OpenImage expected("displaced/" + result);
    const OpenImage from("images/" + source);
    const ImageSize size = expected.image.size();
    const PaddedImage padded(from.bytes, size);
    const std::size_t row_floats = static_cast<std::size_t>(size.width) + 16;
    std::vector<float> numbers(2 * row_floats * static_cast<std::size_t>(size.height));
    const DisplacedBy by = {{numbers.data(), size, row_floats},
                            {numbers.data() + numbers.size() / 2, size, row_floats}};
    fill_with_waves(by.columns, 3.7f, 11);
    fill_with_waves(by.rows, 2.9f, 7);
    const auto displaced =
        result_of(padded.view, [&](const PixelView& image, std::uint8_t* target, auto stride) {
          displace(image, by, mode == "bilinear", fill_color(fill), target, stride);
        });
    std::size_t num_different = 0;
    for (std::size_t i = 0; i < displaced.size(); ++i) {
      EXPECT_LE(std::abs(displaced[i] - expected.bytes[i]), 1) << result << " " << i;
      num_different += displaced[i] != expected.bytes[i];
    }
    EXPECT_LE(num_different, displaced.size() / 200) << result;
  }
  EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace paceline::data
