#include "paceline/app/evaluation/eval_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(EvalCharts, CalibrationHasABarForEachBinWithSamples) {
  const std::string svg = calibration_svg({{0, 0.5, 0, 0, 0}, {0.5, 1, 8, 0.75, 0.25}});
  EXPECT_THAT(svg, HasSubstr("8 samples with 0.500 to 1.000: mean probability 0.7500, accuracy "
                             "0.2500"));
  EXPECT_THAT(svg, HasSubstr("y='235.0' width='148.0' height='75.0'")) << "a quarter of the side";
  EXPECT_THAT(svg, Not(HasSubstr("0 samples")));
}

TEST(EvalCharts, ConfusionsAreATable) {
  const std::vector<std::string> names{"<b>", "dog"};
  EXPECT_THAT(confusion_table({{4, 1}, {0, 0}}, names),
              AllOf(HasSubstr("<th>&lt;b&gt;</th><td style='background:rgba(37,99,235,0.52)'>4"),
                    HasSubstr("<td style='background:rgba(234,88,12,0.22)'>1</td>"),
                    HasSubstr("<th>dog</th><td class='empty'>0</td>")));
}

}  // namespace
}  // namespace paceline::app
