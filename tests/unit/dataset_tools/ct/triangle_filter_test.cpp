#include "paceline/dataset_tools/ct/triangle_filter.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

/// Of one axis alone.
std::vector<float> along(const std::vector<float>& values, std::int64_t outputs, double step) {
  return resample_axis(values, values.size(), 1, triangle_taps(std::ssize(values), outputs, step),
                       -7);
}

TEST(TriangleFilter, LeavesValuesAsTheyAre) {
  EXPECT_THAT(along({3, 5, 65535, 0}, 4, 1), ElementsAre(3, 5, 65535, 0));
}

TEST(TriangleFilter, IsLinearWhereValuesGetDenser) {
  EXPECT_THAT(along({0, 4}, 4, 0.5), ElementsAre(0, 1, 3, 4));
}

TEST(TriangleFilter, IsAMeanWhereValuesGetSparser) {
  // The weights of the first output are 3, 3 and 1 of 7: its triangle ends with the inputs.
  EXPECT_THAT(along({7, 0, 0, 14}, 2, 2), ElementsAre(FloatEq(3), FloatEq(6)));
  for (const std::int64_t inputs : {5, 12, 300})
    for (const TriangleTaps& taps : triangle_taps(inputs, 4, static_cast<double>(inputs) / 4))
      EXPECT_NEAR(std::accumulate(taps.weights.begin(), taps.weights.end(), 0.0), 1, 1e-6);
}

TEST(TriangleFilter, KnowsWhatLiesOutside) {
  EXPECT_THAT(along({1, 1}, 4, 1), ElementsAre(-7, 1, 1, -7));
}

TEST(TriangleFilter, WorksAlongTheMiddleAxis) {
  const std::vector<float> values{1, 2, 3, 4, 10, 20, 30, 40};  // [2, 2, 2]
  const auto taps = triangle_taps(2, 1, 2);
  EXPECT_THAT(resample_axis(values, 2, 2, taps, 0), ElementsAre(2, 3, 20, 30));
}

}  // namespace
}  // namespace paceline::dataset_tools
