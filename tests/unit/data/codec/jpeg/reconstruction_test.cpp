#include "paceline/data/codec/jpeg/reconstruction.h"

#include <algorithm>
#include <span>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

Header header_of(ImageSize size, int columns, int rows) {
  Header header;
  header.size = size;
  header.num_components = 3;
  header.components[0] = {.columns = columns, .rows = rows};
  for (Quantisers& quantisers : header.quantisers) quantisers.values.fill(8);
  return header;
}

TEST(NeededMcus, AreThoseOfTheBoxAtFullChroma) {
  const Header header = header_of({100, 100}, 1, 1);
  EXPECT_EQ(needed_mcus(header, {16, 8, 8, 16}), (Box{2, 1, 1, 2}));
  EXPECT_EQ(needed_mcus(header, {15, 7, 2, 2}), (Box{1, 0, 2, 2}));
  EXPECT_EQ(needed_mcus(header, {0, 0, 100, 100}), (Box{0, 0, 13, 13}));
}

TEST(NeededMcus, AreOneSampleMoreOfLowAndNarrowChroma) {
  const Header header = header_of({100, 100}, 2, 2);
  EXPECT_EQ(needed_mcus(header, {17, 17, 13, 14}), (Box{1, 1, 1, 1}));
  EXPECT_EQ(needed_mcus(header, {16, 16, 13, 14}), (Box{0, 0, 2, 2}));
  EXPECT_EQ(needed_mcus(header, {17, 17, 14, 15}), (Box{1, 1, 2, 2}));
  EXPECT_EQ(needed_mcus(header, {0, 0, 100, 100}), (Box{0, 0, 7, 7}));
}

/// MCUs of one colour each, up to a row that cannot be read.
struct ColoredMcus final : CoefficientSource {
  int num_rows = 0;
  std::vector<int> rows_read;

  bool read(int mcu_row, CoefficientRow& row) override {
    if (mcu_row >= num_rows) return false;
    rows_read.push_back(mcu_row);
    for (std::size_t component = 0; component < 3; ++component) {
      for (int x = 0; x < row.line_length(component); ++x) {
        Block& block = row.line(component, 0)[x];
        block = {};
        block.end = 1;
        // Luma is 128 + 10 * row + column.
        if (component == 0) {
          block.values[0] = static_cast<std::int16_t>(10 * mcu_row + row.first_column() + x);
        }
      }
    }
    return true;
  }
};

/// MCUs without any detail.
struct BlankMcus final : CoefficientSource {
  bool read(int, CoefficientRow& row) override {
    row.clear();
    return true;
  }
};

TEST(Reconstruction, LooksForNoChromaOfGreyWhoseDamagedHeaderClaimsItIsLow) {
  Header header = header_of({64, 64}, 2, 2);
  header.num_components = 1;
  EXPECT_EQ(needed_mcus(header, {16, 16, 16, 16}), (Box{1, 1, 1, 1}));
  Reconstruction reconstruction;
  BlankMcus source;
  PixelBuffer buffer;
  const auto pixels = reconstruction.decode(header, {0, 0, 64, 64}, source, buffer);
  ASSERT_TRUE(pixels.has_value());
  const std::span written(pixels->pixels, std::size_t{3} * 64 * 64);
  EXPECT_EQ(std::ranges::count(written, 128), std::ssize(written));
}

TEST(Reconstruction, TakesCoefficientsFromAnySource) {
  const Header header = header_of({64, 64}, 1, 1);
  Reconstruction reconstruction;
  ColoredMcus source;
  source.num_rows = 4;
  const Box box = {10, 20, 20, 9};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * box.width * box.height) +
                                   Reconstruction::kTargetPadding);
  ASSERT_TRUE(reconstruction.run(header, box, source, pixels.data()));
  EXPECT_EQ(source.rows_read, (std::vector<int>{1, 2, 3}));
  for (int y = 0; y < box.height; ++y) {
    for (int x = 0; x < box.width; ++x) {
      const int expected = 128 + (box.top + y) / 8 * 10 + (box.left + x) / 8;
      ASSERT_EQ(pixels[static_cast<std::size_t>(3 * (y * box.width + x))], expected)
          << x << " " << y;
    }
  }
  source.num_rows = 3;
  EXPECT_FALSE(reconstruction.run(header, box, source, pixels.data()));
}

}  // namespace
}  // namespace paceline::data::jpeg
