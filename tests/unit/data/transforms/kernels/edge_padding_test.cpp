#include "paceline/data/transforms/kernels/edge_padding.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using testing::ElementsAre;

std::vector<int> places(int from, int to, int length, EdgePadding padding) {
  std::vector<int> found;
  for (int place = from; place < to; ++place) found.push_back(padded_place(place, length, padding));
  return found;
}

// As numpy.pad(numpy.arange(3), 4, mode) has it.
TEST(EdgePaddingPlaces, AreNumpys) {
  EXPECT_THAT(places(-4, 7, 3, EdgePadding::kEdge), ElementsAre(0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2));
  EXPECT_THAT(places(-4, 7, 3, EdgePadding::kReflect),
              ElementsAre(0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2));
  EXPECT_THAT(places(-4, 7, 3, EdgePadding::kSymmetric),
              ElementsAre(2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0));
  EXPECT_THAT(places(-1, 2, 1, EdgePadding::kReflect), ElementsAre(0, 0, 0));
}

/// An image whose pixels are numbered, as the box of it is written: a digit a pixel.
std::string padded(const Box& box, EdgePadding padding) {
  constexpr ImageSize kSize{2, 3};
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 6; ++i) pixels.insert(pixels.end(), 3, static_cast<std::uint8_t>(i));
  const auto stride = 3 * static_cast<std::size_t>(box.width) + 5;
  std::vector<std::uint8_t> target(stride * static_cast<std::size_t>(box.height), 99);
  copy_padded({pixels.data(), kSize, 9}, box, padding, target.data(),
              static_cast<std::ptrdiff_t>(stride));
  std::string text;
  for (std::size_t y = 0; y < static_cast<std::size_t>(box.height); ++y) {
    if (y > 0) text += ' ';
    const std::uint8_t* row = target.data() + y * stride;
    for (std::size_t x = 0; x < static_cast<std::size_t>(box.width); ++x) {
      EXPECT_EQ(row[3 * x], row[3 * x + 2]);
      text += static_cast<char>('0' + row[3 * x]);
    }
    EXPECT_EQ(row[3 * static_cast<std::size_t>(box.width)], 99) << "beyond the row";
  }
  return text;
}

TEST(EdgePaddingPixels, FillWhatABoxHasBeyondTheImage) {
  EXPECT_EQ(padded({-1, -2, 4, 7}, EdgePadding::kReflect), "5434543 2101210 5434543 2101210");
  EXPECT_EQ(padded({-1, -1, 2, 2}, EdgePadding::kEdge), "00 00");
  EXPECT_EQ(padded({1, 2, 2, 3}, EdgePadding::kSymmetric), "554 554");
  EXPECT_EQ(padded({0, 1, 1, 2}, EdgePadding::kEdge), "12") << "nothing lies beyond";
  EXPECT_EQ(padded({3, 4, 1, 2}, EdgePadding::kEdge), "55") << "all of it does";
}

}  // namespace
}  // namespace paceline::data
