#include "paceline/launcher/scaling.h"

#include "paceline/base/error.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Steps of 8 samples; the first takes 5 s, the others 2 s but for one of 9 s.
constexpr const char* kMetrics = R"({"step":1,"samples":8,"wall_time":10,"train/loss":1}
{"step":2,"samples":16,"wall_time":15,"train/loss":1}
{"step":3,"samples":24,"wall_time":17,"train/loss":1}
{"step":4,"samples":32,"wall_time":26,"train/loss":1}
{"step":5,"samples":40,"wall_time":28,"train/loss":1}
{"step":5,"event":"eval","samples":40,"wall_time":99,"val/loss":1}
)";

TEST(Scaling, TheRateIsThatOfTheMedianStepAfterTheWarmUp) {
  const TrainingRate rate = training_rate(kMetrics, 2);
  EXPECT_DOUBLE_EQ(rate.samples_per_s, 4);
  EXPECT_DOUBLE_EQ(rate.samples_per_step, 8);
  EXPECT_DOUBLE_EQ(training_rate(kMetrics, 1).samples_per_s, 8 / 3.5) << "of 5, 2, 9 and 2 s";
}

TEST(Scaling, ARunThatEndsInItsWarmUpIsAnError) {
  EXPECT_THAT([] { training_rate(kMetrics, 5); },
              ThrowsMessage<base::ConfigError>(HasSubstr("ended after 5 steps, of which 5")));
  EXPECT_THROW(training_rate("", 1), base::ConfigError);
}

TEST(Scaling, NumbersOfRanksGrow) {
  EXPECT_THAT(parse_counts("--nproc", "1,2,4", 8), ElementsAre(1, 2, 4));
  EXPECT_THAT(parse_counts("--nproc", "3", 8), ElementsAre(3));
  for (const char* wrong : {"", "1,", "2,1", "2,2", "0,1", "1,two", "1 2", "1,9"})
    EXPECT_THROW(parse_counts("--nproc", wrong, 8), base::ConfigError) << wrong;
}

TEST(Scaling, OneMachineFillsUpBeforeOthersAreAdded) {
  EXPECT_THAT(
      scaling_shapes(std::array{1, 2, 4}, std::array{1, 8}),
      ElementsAre(ScalingShape{1, 1}, ScalingShape{1, 8}, ScalingShape{2, 8}, ScalingShape{4, 8}));
  EXPECT_THAT(scaling_shapes(std::array{2}, std::array{1, 8}), ElementsAre(ScalingShape{2, 8}));
}

std::vector<ScalingRow> two_rows() { return {{{1, 1}, {10, 16}, 10}, {{2, 2}, {30, 64}, 32}}; }

TEST(Scaling, SpeedUpAndEfficiencyAreRelativeToTheFirstRow) {
  const auto json = nlohmann::json::parse(scaling_json(two_rows(), "2"));
  EXPECT_EQ(json.at("threads_per_rank"), 2);
  const auto& row = json.at("rows").at(1);
  EXPECT_EQ(row.at("nodes"), 2);
  EXPECT_EQ(row.at("ranks"), 4);
  EXPECT_EQ(row.at("speed_up"), 3.0);
  EXPECT_EQ(row.at("efficiency"), 0.75);
  EXPECT_EQ(row.at("ceiling_samples_per_s"), 32.0);
  EXPECT_EQ(row.at("of_ceiling"), 0.9375);
  EXPECT_EQ(json.at("rows").at(0).at("efficiency"), 1.0);
}

TEST(Scaling, TheTableSaysTheSame) {
  EXPECT_THAT(scaling_table(two_rows()),
              ElementsAre("nodes ranks  samples/step   samples/s  speed-up  efficiency  "
                          "independent samples/s     of that",
                          "    1     1            16        10.0      1.00        1.00             "
                          "      10.0        1.00",
                          "    2     4            64        30.0      3.00        0.75             "
                          "      32.0        0.94"));
}

}  // namespace
}  // namespace paceline::launcher
