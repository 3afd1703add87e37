// Against Hyperband's algorithm; see make_halving.py.

#include "paceline/launcher/sweep/halving.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

nlohmann::json golden_halving() {
  return nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/sweep/halving.json"));
}

TEST(GoldenHalving, RungsAreTheRoundsOfHyperbandsBrackets) {
  const nlohmann::json golden = golden_halving();
  int num_compared = 0;
  for (const auto& bracket : golden["brackets"]) {
    const std::vector<Rung> rungs = halving_rungs(bracket["trials"], {bracket["shortest"], "ep"},
                                                  {bracket["longest"], "ep"}, bracket["eta"]);
    ASSERT_EQ(rungs.size(), bracket["rounds"].size()) << bracket;
    double work = 0;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      EXPECT_EQ(rungs[i].num_trials, bracket["rounds"][i][0]) << bracket;
      EXPECT_EQ(rungs[i].duration, bracket["rounds"][i][1].dump() + "ep") << bracket;
      work += rungs[i].work;
      ++num_compared;
    }
    EXPECT_NEAR(work, 1, 1e-12) << "who gets to the last rung has trained the longest";
  }
  EXPECT_EQ(num_compared, 45);
}

TEST(GoldenHalving, TheBestGoOn) {
  const nlohmann::json golden = golden_halving();
  EXPECT_EQ(golden["races"].size(), 40);
  for (const auto& race : golden["races"]) {
    std::vector<std::optional<double>> losses;
    std::vector<std::optional<double>> gains;
    for (const auto& loss : race["losses"]) {
      losses.push_back(loss.is_null() ? std::nullopt : std::optional(loss.get<double>()));
      gains.push_back(loss.is_null() ? std::nullopt : std::optional(-loss.get<double>()));
    }
    const auto kept = race["kept"].get<std::vector<std::size_t>>();
    EXPECT_EQ(best_of(losses, race["keep"], /*is_less_better=*/true), kept) << race;
    EXPECT_EQ(best_of(gains, race["keep"], /*is_less_better=*/false), kept) << race;
  }
}

}  // namespace
}  // namespace paceline::launcher
