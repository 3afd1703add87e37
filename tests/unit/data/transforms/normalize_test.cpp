#include "paceline/data/transforms/normalize.h"

#include "support/data/test_images.h"

#include <utility>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr ImageSize kSize = {3, 4};

std::vector<float> written(const NoiseImage& image, const Box& box, bool flipped,
                           PixelLayout layout) {
  std::vector<float> floats(static_cast<std::size_t>(3 * box.height * box.width), -100.0f);
  NormalizeTable(NormalizeConfig{}).write(image.view, box, flipped, {floats.data(), layout});
  return floats;
}

TEST(NormalizeTable, RoundsAfterEachStep) {
  const NormalizeTable table(NormalizeConfig{{0.5, 0.25, 0.0}, {0.5, 0.1, 3.0}});
  EXPECT_EQ(table.value(0, 255), 1.0f);
  EXPECT_EQ(table.value(0, 0), -1.0f);
  EXPECT_EQ(table.value(1, 77), (77.0f / 255.0f - 0.25f) / 0.1f);
  EXPECT_EQ(table.value(2, 1), 1.0f / 255.0f / 3.0f);
  EXPECT_EQ(NormalizeTable().value(1, 51), 51.0f / 255.0f);
}

TEST(NormalizeTable, WritesTriplesAndPlanes) {
  const NoiseImage image(kSize, 5);
  const NormalizeTable table(NormalizeConfig{});
  const std::vector<float> triples =
      written(image, whole(kSize), false, PixelLayout::kChannelsLast);
  const std::vector<float> planes = written(image, whole(kSize), false, PixelLayout::kPlanar);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const float expected = table.value(channel, image.view.row(y)[3 * x + channel]);
        EXPECT_EQ(triples[static_cast<std::size_t>((y * 4 + x) * 3 + channel)], expected);
        EXPECT_EQ(planes[static_cast<std::size_t>((channel * 3 + y) * 4 + x)], expected);
      }
    }
  }
}

TEST(NormalizeTable, MirrorsRows) {
  const NoiseImage image(kSize, 6);
  for (const PixelLayout layout : {PixelLayout::kChannelsLast, PixelLayout::kPlanar}) {
    const bool is_planar = layout == PixelLayout::kPlanar;
    const auto at = [&](int y, int x, int channel) {
      return static_cast<std::size_t>(is_planar ? (channel * 3 + y) * 4 + x
                                                : (y * 4 + x) * 3 + channel);
    };
    const std::vector<float> straight = written(image, whole(kSize), false, layout);
    const std::vector<float> mirrored = written(image, whole(kSize), true, layout);
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) {
        for (int channel = 0; channel < 3; ++channel) {
          EXPECT_EQ(mirrored[at(y, x, channel)], straight[at(y, 3 - x, channel)]);
        }
      }
    }
  }
}

TEST(NormalizeTable, FillsBlackOutsideTheImage) {
  const NoiseImage image(kSize, 7);
  const NormalizeTable table(NormalizeConfig{});
  for (const bool flipped : {false, true}) {
    for (const Box box :
         {Box{-1, -2, 6, 9}, Box{1, 2, 5, 5}, Box{-4, -4, 3, 3}, Box{0, 10, 2, 2}}) {
      const std::vector<float> floats = written(image, box, flipped, PixelLayout::kChannelsLast);
      for (int y = 0; y < box.height; ++y) {
        for (int x = 0; x < box.width; ++x) {
          const int source_y = box.top + y;
          const int source_x = box.left + (flipped ? box.width - 1 - x : x);
          const bool inside = source_y >= 0 && source_y < 3 && source_x >= 0 && source_x < 4;
          for (int channel = 0; channel < 3; ++channel) {
            const std::uint8_t byte =
                inside ? image.view.row(source_y)[3 * source_x + channel] : std::uint8_t{0};
            EXPECT_EQ(floats[static_cast<std::size_t>((y * box.width + x) * 3 + channel)],
                      table.value(channel, byte));
          }
        }
      }
    }
  }
}

TEST(ErasingValues, NoiseIsNormalAndTheSameForASeed) {
  const EraseStep step{.box = {10, 20, 60, 70}, .noise_seed = 7};
  std::vector<float> rows(3 * 100 * 120, 9.0f);
  std::vector<float> planes = rows;
  fill_box({rows.data(), PixelLayout::kChannelsLast}, {100, 120}, step);
  fill_box({planes.data(), PixelLayout::kPlanar}, {100, 120}, step);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  double beside = 0;
  float before = 0;
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 120; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const float value = rows[static_cast<std::size_t>(3 * (120 * y + x) + channel)];
        EXPECT_EQ(planes[static_cast<std::size_t>(100 * 120 * channel + 120 * y + x)], value);
        const bool is_inside = y >= 10 && y < 70 && x >= 20 && x < 90;
        EXPECT_EQ(value == 9.0f, !is_inside);
        if (!is_inside) continue;
        sum += value;
        squares += value * value;
        fourth += value * value * value * value;
        beside += value * std::exchange(before, value);
      }
    }
  }
  constexpr double kCount = 3 * 60 * 70;
  EXPECT_NEAR(sum / kCount, 0, 0.04);
  EXPECT_NEAR(squares / kCount, 1, 0.06);
  EXPECT_NEAR(fourth / kCount, 3, 0.4);
  EXPECT_NEAR(beside / kCount, 0, 0.04);
}

}  // namespace
}  // namespace paceline::data
