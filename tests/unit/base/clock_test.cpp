#include "paceline/base/clock.h"

#include "support/manual_clock.h"

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(Clock, TheSystemsNeverGoesBack) {
  const SystemClock clock;
  const double first = clock.monotonic_s();
  EXPECT_GE(clock.monotonic_s(), first);
  EXPECT_GT(clock.wall_s(), 1.5e9);  // later than 2017
}

TEST(Clock, AManualOneMovesWhenTold) {
  test::ManualClock clock;
  const double wall = clock.wall_s();
  clock.advance(2.5);
  EXPECT_EQ(clock.monotonic_s(), 2.5);
  EXPECT_EQ(clock.wall_s(), wall + 2.5);
}

}  // namespace
}  // namespace paceline::base
