#include "paceline/launcher/sweep/sweep_chart.h"

#include "unit/launcher/sweep/small_sweep.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int count_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(SweepChartTest, EachKeyHasAChartWithAPointForEachTrial) {
  Sweep sweep = test::small_grid();
  for (int i = 0; i < 4; ++i) sweep.records[i] = test::done_with({0.1 * i});
  const std::string svg = sweep_svg(sweep, {});
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_EQ(count_in(svg, "<circle"), 12) << "trial, optimizer.lr, model";
  EXPECT_EQ(count_in(svg, "#c0392b"), 3) << "the best in each";
  EXPECT_THAT(svg, HasSubstr(">val/top1 over model<"));
  EXPECT_THAT(svg, HasSubstr(">resnet18<")) << "values that are no numbers are named";
  EXPECT_THAT(svg, HasSubstr("cx=\"80.0\"")) << "0.1 lies at the left end";
  EXPECT_THAT(svg, HasSubstr("cx=\"770.0\"")) << "0.2 at the right";
}

TEST(SweepChartTest, DrawsOverMagnitudesLieOnALogarithm) {
  Sweep sweep{.strategy = Strategy::kRandom, .goal = MetricGoal{.metric = "val/loss"}};
  const SearchSpace space = test::space_of({"a=log(1,100)"});
  sweep.rungs = {{.duration = "", .work = 1, .num_trials = 3}};
  for (const char* value : {"1", "10", "100"}) {
    sweep.trials.push_back({.number = static_cast<int>(sweep.trials.size()) + 1,
                            .settings = {{"a", value}},
                            .overrides = {}});
    sweep.records.push_back(test::done_with({1}));
  }
  EXPECT_EQ(count_in(sweep_svg(sweep, space), "cx=\"425.0\""), 2)
      << "10 lies in the middle, as trial 2 does";
}

TEST(SweepChartTest, NamesAreEscapedAndLowerRungsPaler) {
  Sweep sweep = test::small_halving();
  sweep.trials[0].settings[0].value = "<a&b>";
  sweep.records[0] = test::done_with({0.5});
  sweep.records[1] = test::done_with({0.4, 0.4, 0.4});
  const std::string svg = sweep_svg(sweep, {});
  EXPECT_THAT(svg, HasSubstr("&lt;a&amp;b&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<a&b>")));
  EXPECT_EQ(count_in(svg, "fill-opacity=\"0.50\""), 2);
  EXPECT_EQ(count_in(svg, "fill-opacity=\"1.00\""), 2);
}

TEST(SweepChartTest, WithoutResultsThereIsAPage) {
  EXPECT_EQ(count_in(sweep_svg(test::small_grid(), {}), "<circle"), 0);
}

}  // namespace
}  // namespace paceline::launcher
