#include "paceline/optim/lr_find/lr_range.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(LrRange, GrowsByTheSameFactorInEachStep) {
  LrRange range = usual_range(LrFindStyle::kFastai);
  EXPECT_EQ(range.rate(0), 1e-7);
  EXPECT_NEAR(range.rate(50), 1e-3, 1e-12);
  EXPECT_NEAR(range.rate(99) / range.rate(98), range.rate(1) / range.rate(0), 1e-9);
  range = usual_range(LrFindStyle::kLightning);
  EXPECT_EQ(range.rate(0), 1e-8);
  EXPECT_NEAR(range.rate(99), 1, 1e-12) << "its last step has the last rate";
}

TEST(LrRange, SmoothsFromTheFirstLossOn) {
  EXPECT_THAT(smoothed({3, 3, 3}, LrFindStyle::kFastai),
              ElementsAre(DoubleNear(3, 1e-12), DoubleNear(3, 1e-12), DoubleNear(3, 1e-12)));
  EXPECT_LT(smoothed({3}, LrFindStyle::kLightning).front(), 2) << "whose divisor is a step ahead";
}

TEST(LrRange, EndsAtFourTimesTheLeast) {
  EXPECT_FALSE(has_diverged({}, LrFindStyle::kFastai));
  EXPECT_FALSE(has_diverged({2, 1, 4}, LrFindStyle::kFastai));
  EXPECT_TRUE(has_diverged({2, 1, 4.01}, LrFindStyle::kFastai));
  EXPECT_FALSE(has_diverged({5, std::numeric_limits<double>::quiet_NaN()}, LrFindStyle::kFastai));
}

}  // namespace
}  // namespace paceline::optim
