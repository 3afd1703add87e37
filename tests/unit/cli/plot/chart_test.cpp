#include "paceline/cli/plot/chart.h"

#include "paceline/base/text.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TextChart, IsAnAreaWithItsSmallestAndLargestValue) {
  const Chart falling{"optimizer.lr", "steps", {0, 100}, {0.5, 0}};
  EXPECT_EQ(text_chart(falling, 20, 4),
            "optimizer.lr\n"
            "        0.5 █▆▄▂    \n"
            "          0 ████▇▅▃▁\n"
            "            0100 steps\n");
}

TEST(TextChart, AStairHasNoSlope) {
  const Chart stair{"data.image_size", "steps", {0, 49, 50, 99}, {96, 96, 192, 192}};
  const std::string text = text_chart(stair, 28, 3);
  EXPECT_THAT(text, AllOf(HasSubstr("        192         ████████\n"),
                          HasSubstr("         96 ▁▁▁▁▁▁▁▁████████\n")));
}

TEST(TextChart, AConstantIsInTheMiddle) {
  const std::string text = text_chart({"lr", "steps", {0, 9}, {0.1, 0.1}}, 20, 4);
  EXPECT_THAT(text, AllOf(HasSubstr("        0.1 ▁▁▁▁▁▁▁▁\n"), HasSubstr(" ████████\n")));
}

TEST(TextChart, APointIsAChart) {
  EXPECT_THAT(text_chart({"lr", "steps", {0}, {3}}, 5, 1), HasSubstr("lr\n"));
}

TEST(SvgCharts, HoldEachChartBelowTheOther) {
  const std::array charts{Chart{"a < b & c", "steps", {0, 10}, {1, 3}},
                          Chart{"flat", "steps", {0, 10}, {2, 2}}};
  const std::string svg = svg_charts(charts);
  EXPECT_THAT(
      svg, AllOf(HasSubstr("height=\"440\""), HasSubstr("a &lt; b &amp; c"),
                 HasSubstr("points=\"80.0,180.0 780.0,40.0 \""),
                 HasSubstr("points=\"80.0,330.0 780.0,330.0 \""), HasSubstr(">10 steps</text>")));
}

}  // namespace
}  // namespace paceline::cli
