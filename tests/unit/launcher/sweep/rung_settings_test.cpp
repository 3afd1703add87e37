#include "paceline/launcher/sweep/rung_settings.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<Rung> kThreeRungs = halving_rungs(9, {2, "ep"}, {18, "ep"}, 3);

TEST(RungSettingsTest, RunsAreAsLongAsTheLongestAndStoppedEarly) {
  RecipeFacts facts;
  facts.eval_every = "1ep";
  EXPECT_THAT(rung_settings(kThreeRungs, 1, facts),
              ElementsAre("train.duration=18ep", "train.min_duration=6ep",
                          "train.stop_when=val/loss > -1e30"));
  EXPECT_THAT(rung_settings(kThreeRungs, 2, facts), ElementsAre("train.duration=18ep"))
      << "the recipe's own conditions count again";
}

TEST(RungSettingsTest, EvaluationsLieAtRungsAndStopsSave) {
  RecipeFacts facts;
  for (const char* every : {"4ep", "10ba", "0.5ep", ""}) {
    facts.eval_every = every;
    if (facts.eval_every->empty()) facts.eval_every.reset();
    EXPECT_EQ(rung_settings(kThreeRungs, 0, facts).back(), "train.eval_every=2ep") << every;
  }
  facts.saves = false;
  EXPECT_EQ(rung_settings(kThreeRungs, 0, facts).back(), "checkpoint.every=18ep");
}

TEST(RungSettingsTest, WithoutHalvingThereAreNone) {
  EXPECT_THAT(rung_settings({{.duration = "", .work = 1, .num_trials = 4}}, 0, {}), IsEmpty());
}

}  // namespace
}  // namespace paceline::launcher
