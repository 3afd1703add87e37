#include "paceline/config/sides.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

TEST(Sides, OneIsOfAllAxes) {
  const Sides one = 224;
  EXPECT_TRUE(one.is_one());
  EXPECT_EQ(one.height(), 224);
  EXPECT_EQ(one.width(), 224);
  EXPECT_EQ(one.to_string(), "224");
  const Sides two(96, 128);
  EXPECT_FALSE(two.is_one());
  EXPECT_EQ(two.height(), 96);
  EXPECT_EQ(two.width(), 128);
  EXPECT_EQ(two.shorter(), 96);
  EXPECT_EQ(two.to_string(), "[96, 128]");
}

}  // namespace
}  // namespace paceline::config
