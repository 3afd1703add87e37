#include "paceline/data/transforms/kernels/point_tables.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(PointTables, BrightnessCutsOffAndClamps) {
  const ByteTable darker = blend_table(0, 0.5f);
  EXPECT_EQ(darker[101], 50);
  const ByteTable brighter = blend_table(0, 1.5f);
  EXPECT_EQ(brighter[101], 151);
  EXPECT_EQ(brighter[200], 255);
}

TEST(PointTables, ContrastMovesAwayFromTheMean) {
  const ByteTable stronger = blend_table(51, 2.0f);
  EXPECT_EQ(stronger[51], 51);
  EXPECT_EQ(stronger[61], 71);
  EXPECT_EQ(stronger[20], 0);
  EXPECT_EQ(blend_table(51, 0.0f)[200], 51);
}

TEST(PointTables, PosterizeKeepsUpperBits) {
  EXPECT_EQ(posterize_table(8)[0xB7], 0xB7);
  EXPECT_EQ(posterize_table(3)[0xB7], 0xA0);
  EXPECT_EQ(posterize_table(1)[0xB7], 0x80);
}

TEST(PointTables, SolarizeInvertsFromTheThresholdOn) {
  const ByteTable table = solarize_table(99.5);
  EXPECT_EQ(table[99], 99);
  EXPECT_EQ(table[100], 155);
  EXPECT_EQ(solarize_table(256)[255], 255);
  EXPECT_EQ(solarize_table(0), invert_table());
}

TEST(PointTables, AutocontrastStretchesEachChannel) {
  const PointTables tables = autocontrast_tables({{{50, 101}, {0, 255}, {7, 7}}});
  EXPECT_EQ(tables[0][49], 0);
  EXPECT_EQ(tables[0][50], 0);
  EXPECT_EQ(tables[0][60], 50);
  EXPECT_EQ(tables[0][101], 255);
  EXPECT_EQ(tables[0][102], 255);
  EXPECT_EQ(tables[1], identity_tables()[1]);
  EXPECT_EQ(tables[2], identity_tables()[2]) << "one colour only";
}

TEST(PointTables, EqualizeSpreadsFrequentValues) {
  ChannelHistograms histograms = {};
  // 510 pixels before the brightest: a step of 2.
  histograms[0][10] = 255;
  histograms[0][20] = 255;
  histograms[0][30] = 90;
  histograms[1][5] = 600;
  histograms[2][5] = 100;
  histograms[2][9] = 500;
  const PointTables tables = equalize_tables(histograms);
  EXPECT_EQ(tables[0][10], 0);
  EXPECT_EQ(tables[0][20], 128);
  EXPECT_EQ(tables[0][30], 255);
  EXPECT_EQ(tables[1], identity_tables()[1]) << "one colour only";
  EXPECT_EQ(tables[2], identity_tables()[2]) << "fewer than 255 pixels before the brightest";
}

TEST(PointTables, AppendedOperationsComeLater) {
  PointTables tables = identity_tables();
  append(tables, invert_table());
  append(tables, PointTables{posterize_table(4), posterize_table(1), invert_table()});
  EXPECT_EQ(tables[0][0x5A], 0xA0);
  EXPECT_EQ(tables[1][0x5A], 0x80);
  EXPECT_EQ(tables[2][0x5A], 0x5A);
}

TEST(PointTables, ApplyToTheirChannel) {
  const NoiseImage noise({3, 7}, 8);
  const PointTables tables = {invert_table(), posterize_table(2), solarize_table(100)};
  const std::vector<std::uint8_t> before = packed(noise.view);
  const std::vector<std::uint8_t> after =
      result_of(noise.view, [&](const PixelView& source, std::uint8_t* target, auto stride) {
        apply_tables(source, tables, target, stride);
      });
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], tables[i % 3][before[i]]);
}

}  // namespace
}  // namespace paceline::data
