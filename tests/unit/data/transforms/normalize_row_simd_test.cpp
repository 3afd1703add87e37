#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/normalize_row.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class NormalizeRowSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

/// Where pixel x of a row of `width` lies, per channel.
std::ptrdiff_t place(std::ptrdiff_t step, int width, int x) {
  const int written = step < 0 ? width - 1 - x : x;
  return (step == 1 || step == -1 ? 1 : 3) * std::ptrdiff_t{written};
}

struct RowForm {
  PixelLayout layout;
  bool flipped;
  int shift;  ///< floats
};

std::vector<RowForm> row_forms() {
  std::vector<RowForm> forms;
  for (const PixelLayout layout : {PixelLayout::kChannelsLast, PixelLayout::kPlanar})
    for (const bool flipped : {false, true})
      for (const int shift : {0, 1}) forms.push_back({layout, flipped, shift});
  return forms;
}

// The bytes lie in a vector of just their size: a sanitizer sees reads beyond them.
TEST_P(NormalizeRowSimd, GivesTheTablesFloatsForAnyWidthAndLayout) {
  std::mt19937 random(5);
  int rows_written = 0;
  for (const NormalizeConfig& config :
       {NormalizeConfig{}, NormalizeConfig{{0, 0, 0}, {1, 1, 1}},
        NormalizeConfig{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
        // Too small for an inverse: the vector code must leave it to the table.
        NormalizeConfig{{0, 0, 0}, {1e-39, 1, 1}}}) {
    const NormalizeTable table(config);
    for (int width = 1; width < 90; ++width) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(3 * width));
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
      const PixelView row = {bytes.data(), {1, width}, std::ptrdiff_t{3} * width};
      for (const RowForm& form : row_forms()) {
        // At the start of a cache line, where rows may be written past the caches, and elsewhere.
        constexpr float kUntouched = -9.0f;
        alignas(64) float room[3 * 90 + 16];
        std::ranges::fill(room, kUntouched);
        float* const floats = room + form.shift;
        table.write(row, whole(row.size), form.flipped, {floats, form.layout});
        const bool is_planar = form.layout == PixelLayout::kPlanar;
        const std::ptrdiff_t step = (is_planar ? 1 : 3) * (form.flipped ? -1 : 1);
        const int between = is_planar ? width : 1;
        for (int x = 0; x < width; ++x) {
          for (int channel = 0; channel < 3; ++channel) {
            ASSERT_EQ(floats[channel * between + place(step, width, x)],
                      table.value(channel, bytes[static_cast<std::size_t>(3 * x + channel)]))
                << width << " columns, step " << step << ", shift " << form.shift;
          }
        }
        for (const float& place : room) {
          const bool is_of_row = &place >= floats && &place < floats + 3 * width;
          ASSERT_TRUE(is_of_row || place == kUntouched);
        }
        ++rows_written;
      }
    }
  }
  EXPECT_EQ(rows_written, 4 * 89 * 8);
}

// The vector code itself: not just what stands in for it.
TEST_P(NormalizeRowSimd, TakesRowsOfAVectorAndMore) {
  const std::vector<std::uint8_t> bytes(3 * 16, 51);
  std::vector<float> floats(bytes.size());
  NormalizeLanes lanes = {};
  lanes.deviation.fill(1.0f);
  lanes.inverse_deviation.fill(1.0f);
  const RowSink sink = {{floats.data(), floats.data() + 1, floats.data() + 2}, 3};
  EXPECT_TRUE(normalize_row(bytes.data(), 16, lanes, sink));
  for (const float value : floats) EXPECT_EQ(value, 51.0f / 255.0f);
  EXPECT_FALSE(normalize_row(bytes.data(), 7, lanes, sink));
}

INSTANTIATE_TEST_SUITE_P(Targets, NormalizeRowSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
