#include "paceline/data/transforms/resample_axis.h"

#include <cstddef>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr std::int32_t kOne = 1 << ResampleAxis::kPrecisionBits;

TEST(ResampleAxis, HalvesByATriangle) {
  ResampleAxis axis;
  axis.prepare(8, 4, Interpolation::kBilinear);
  // The second output lies between inputs 2 and 3: distances 0.25 and 0.75 of a half width of 2.
  EXPECT_EQ(axis.first[1], 1);
  EXPECT_EQ(axis.count[1], 4);
  const std::size_t start = static_cast<std::size_t>(axis.taps);
  EXPECT_EQ(axis.weights[start], kOne / 8);
  EXPECT_EQ(axis.weights[start + 1], 3 * kOne / 8);
  EXPECT_EQ(axis.weights[start + 2], 3 * kOne / 8);
  EXPECT_EQ(axis.weights[start + 3], kOne / 8);
}

TEST(ResampleAxis, StaysInsideAndSumsToOne) {
  ResampleAxis axis;
  for (const auto interpolation :
       {Interpolation::kNearest, Interpolation::kBox, Interpolation::kBilinear,
        Interpolation::kHamming, Interpolation::kBicubic, Interpolation::kLanczos}) {
    for (const auto& [input, output] :
         {std::pair{1, 7}, {7, 1}, {100, 33}, {33, 100}, {5, 5}, {3000, 224}}) {
      axis.prepare(input, output, interpolation);
      ASSERT_EQ(axis.outputs, output);
      ASSERT_EQ(axis.taps % ResampleAxis::kGroup, 0);
      for (int i = 0; i < output; ++i) {
        const std::size_t index = static_cast<std::size_t>(i);
        EXPECT_GE(axis.first[index], 0);
        EXPECT_GT(axis.count[index], 0);
        EXPECT_LE(axis.first[index] + axis.count[index], input);
        ASSERT_LE(axis.count[index], axis.taps);
        std::int32_t sum = 0;
        for (int tap = 0; tap < axis.taps; ++tap) {
          const std::size_t at =
              index * static_cast<std::size_t>(axis.taps) + static_cast<std::size_t>(tap);
          sum += axis.weights[at];
          EXPECT_EQ(axis.weights[at], axis.high[at] * (1 << ResampleAxis::kLowBits) + axis.low[at]);
          if (tap >= axis.count[index]) {
            EXPECT_EQ(axis.weights[at], 0);
          }
        }
        EXPECT_NEAR(sum, kOne, axis.taps);
      }
    }
  }
}

TEST(ResampleAxis, NearestTakesOneInputForEachOutput) {
  ResampleAxis axis;
  axis.prepare(10, 4, Interpolation::kNearest, {1, 4});
  EXPECT_EQ(axis.first[0], 3);
  EXPECT_EQ(axis.first[1], 6);
  EXPECT_EQ(axis.first[2], 8);
  EXPECT_EQ(axis.count[2], 1);
  EXPECT_EQ(axis.weights[0], kOne);
  EXPECT_EQ(axis.inputs().begin, 3);
  EXPECT_EQ(axis.inputs().end, 9);
}

TEST(ResampleAxis, GoesOnWithZerosToAWholeGroup) {
  ResampleAxis axis;
  axis.prepare(9, 5, Interpolation::kBilinear);
  ASSERT_EQ(axis.first.size(), 8u);
  ASSERT_EQ(axis.weights.size(), 8u * static_cast<std::size_t>(axis.taps));
  EXPECT_EQ(axis.count[7], 0);
}

}  // namespace
}  // namespace paceline::data
