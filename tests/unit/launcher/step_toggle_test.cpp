#include "paceline/launcher/step_toggle.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// After two steps of warm-up steps take 1, 1 and 4 s.
constexpr const char* kStepsOfToggle = R"({"step":1,"samples":8,"wall_time":10,"train/loss":1}
{"step":2,"samples":16,"wall_time":15,"train/loss":1}
{"step":3,"samples":24,"wall_time":16,"train/loss":1}
{"step":4,"samples":32,"wall_time":17,"train/loss":1}
{"step":5,"samples":40,"wall_time":21,"train/loss":1}
{"step":5,"event":"eval","samples":40,"wall_time":99,"val/loss":1}
)";

TEST(StepToggle, AStepIsTheMeanOfThoseAfterTheWarmUp) {
  EXPECT_DOUBLE_EQ(mean_step_ms(kStepsOfToggle, 2), 2000) << "what acts in few steps counts";
  EXPECT_DOUBLE_EQ(mean_step_ms(kStepsOfToggle, 4), 4000);
}

TEST(StepToggle, TheMedianStepOfThoseAfterTheWarmUp) {
  EXPECT_DOUBLE_EQ(median_step_ms(kStepsOfToggle, 2), 1000) << "one slow step does not matter";
  EXPECT_DOUBLE_EQ(median_step_ms(kStepsOfToggle, 3), 2500) << "the mean of two in the middle";
  EXPECT_DOUBLE_EQ(median_step_ms(kStepsOfToggle, 1), 2500) << "of 5, 1, 1 and 4 s";
}

TEST(StepToggle, ARunThatEndsInItsWarmUpIsAnError) {
  EXPECT_THAT([] { mean_step_ms(kStepsOfToggle, 5); },
              ThrowsMessage<base::ConfigError>(HasSubstr("ended after 5 steps, of which 5")));
  EXPECT_THROW(median_step_ms(kStepsOfToggle, 5), base::ConfigError);
  EXPECT_THROW(mean_step_ms("", 1), base::ConfigError);
}

TEST(StepToggle, AMachineThatGetsSlowerFavoursNeither) {
  ToggleRound round;
  for (std::size_t run = 0; run < 4; ++run)
    round.ms.at(run) = 10 + static_cast<double>(run) + (is_toggled(run) ? 5 : 0);
  EXPECT_DOUBLE_EQ(round.added(), 5);
}

std::vector<ToggleRound> three_rounds() {
  return {{{10, 12, 12, 10}}, {{10, 11, 13, 12}}, {{9, 13, 13, 9}}};
}

TEST(StepToggle, TheTableTellsMediansAndTheirRange) {
  EXPECT_THAT(toggle_table(three_rounds()),
              ::testing::ElementsAre("round    ms without       ms with      ms added",
                                     "    1        10.000        12.000        +2.000",
                                     "    2        11.000        12.000        +1.000",
                                     "    3         9.000        13.000        +4.000",
                                     "medians of the rounds (least to most):",
                                     "without  10.000 (9.000 to 11.000) ms a step",
                                     "with     12.000 (12.000 to 13.000) ms a step",
                                     "added    2.000 (1.000 to 4.000) ms a step"));
}

TEST(StepToggle, JsonSaysTheSame) {
  const auto json = nlohmann::json::parse(toggle_json(three_rounds(), "2"));
  EXPECT_EQ(json.at("threads_per_rank"), 2);
  EXPECT_EQ(json.at("rounds").at(1).at("ms"), nlohmann::json({10.0, 11.0, 13.0, 12.0}));
  EXPECT_EQ(json.at("ms_added").at("median"), 2.0);
  EXPECT_EQ(json.at("ms_added").at("least"), 1.0);
  EXPECT_EQ(json.at("ms_without").at("most"), 11.0);
}

}  // namespace
}  // namespace paceline::launcher
