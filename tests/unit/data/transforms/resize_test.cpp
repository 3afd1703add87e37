#include "paceline/data/transforms/resize.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Resizer, LeavesAnImageOfTheRightSizeAlone) {
  const NoiseImage image({7, 9}, 1);
  Resizer resizer;
  PixelBuffer target;
  EXPECT_EQ(resizer.resize(image.view, {7, 9}, Interpolation::kBilinear, target).pixels,
            image.view.pixels);
}

TEST(Resizer, AveragesByHand) {
  PixelBuffer buffer;
  std::uint8_t* pixels = buffer.reserve(12);
  const std::uint8_t values[12] = {0, 10, 255, 100, 20, 255, 200, 30, 255, 0, 40, 254};
  std::copy(std::begin(values), std::end(values), pixels);
  Resizer resizer;
  PixelBuffer target;
  const PixelView one =
      resizer.resize({pixels, {2, 2}, 6}, {1, 1}, Interpolation::kBilinear, target);
  // Rows first, rounded half up: (0 + 100) / 2, (200 + 0) / 2; then the column.
  EXPECT_EQ(packed(one), (std::vector<std::uint8_t>{75, 25, 255}));
}

// No pixel beside the box may contribute.
TEST(Resizer, SeesNothingButItsView) {
  const NoiseImage image({40, 50}, 2);
  const Box box = {5, 7, 21, 30};
  StoredSample alone = raw_sample(image.view.part(box));
  alone.bytes.resize(alone.bytes.size() + PixelBuffer::kPadding);
  Resizer resizer;
  PixelBuffer first;
  PixelBuffer second;
  for (const ImageSize size :
       {ImageSize{8, 8}, ImageSize{64, 48}, ImageSize{21, 9}, ImageSize{50, 30}}) {
    const PixelView inside =
        resizer.resize(image.view.part(box), size, Interpolation::kBicubic, first);
    const PixelView cut = resizer.resize({alone.bytes.data(), box.size(), 3 * box.width}, size,
                                         Interpolation::kBicubic, second);
    EXPECT_EQ(packed(inside), packed(cut));
  }
}

TEST(Resizer, BeginsWithTheColumnsWhereTheHeightShrinksMore) {
  EXPECT_FALSE(goes_by_columns_first({300, 300}, {200, 250}));  // 100 rows, 50 columns
  EXPECT_TRUE(goes_by_columns_first({300, 300}, {199, 250}));
  EXPECT_TRUE(goes_by_columns_first({300, 300}, {299, 301}));
  EXPECT_FALSE(goes_by_columns_first({300, 300}, {300, 400}));
  EXPECT_FALSE(goes_by_columns_first({300, 300}, {301, 400}));
}

PixelView rows_to(const PixelView& source, int width, PixelBuffer& target) {
  ResampleAxis axis;
  axis.prepare(source.size.width, width, Interpolation::kBilinear);
  const std::ptrdiff_t stride = padded_stride(width);
  std::uint8_t* pixels = target.reserve(static_cast<std::size_t>(stride * source.size.height));
  resize_rows_scalar(source, axis, pixels, stride);
  return {pixels, {source.size.height, width}, stride};
}

PixelView columns_to(const PixelView& source, int height, PixelBuffer& target) {
  ResampleAxis axis;
  axis.prepare(source.size.height, height, Interpolation::kBilinear);
  const std::ptrdiff_t stride = padded_stride(source.size.width);
  std::uint8_t* pixels = target.reserve(static_cast<std::size_t>(stride * height));
  resize_columns_scalar(source, axis, pixels, stride);
  return {pixels, {height, source.size.width}, stride};
}

TEST(Resizer, EqualsItsPlainPassesInEitherOrder) {
  const NoiseImage image({33, 47}, 3);
  Resizer resizer;
  PixelBuffer target;
  PixelBuffer first;
  PixelBuffer second;
  const PixelView by_columns =
      resizer.resize(image.view, {20, 70}, Interpolation::kBilinear, target);
  EXPECT_EQ(packed(by_columns), packed(rows_to(columns_to(image.view, 20, first), 70, second)));
  const PixelView by_rows = resizer.resize(image.view, {30, 21}, Interpolation::kBilinear, target);
  EXPECT_EQ(packed(by_rows), packed(columns_to(rows_to(image.view, 21, first), 30, second)));
}

}  // namespace
}  // namespace paceline::data
