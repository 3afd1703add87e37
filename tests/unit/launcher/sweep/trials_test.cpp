#include "paceline/launcher/sweep/trials.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

SearchSpace trial_space(const std::vector<std::string>& overrides) {
  return parse_search_space(overrides);
}

TEST(TrialsTest, AGridHasAllCombinations) {
  const std::vector<Trial> trials = grid_trials(trial_space({"a=1,2", "+b.c=[1,2],x,y"}));
  ASSERT_EQ(trials.size(), 6);
  EXPECT_EQ(trials[0].number, 1);
  EXPECT_EQ(describe(trials[0]), "a=1 b.c=[1,2]");
  EXPECT_EQ(describe(trials[1]), "a=1 b.c=x");
  EXPECT_EQ(describe(trials[5]), "a=2 b.c=y");
  EXPECT_THAT(trials[5].overrides, ElementsAre("a=2", "+b.c=y"));
}

TEST(TrialsTest, AGridIsNotDrawnAndNotEndless) {
  EXPECT_THAT([] { grid_trials(trial_space({"a=uniform(0,1)"})); },
              ThrowsMessage<base::ConfigError>(HasSubstr("--strategy random --trials N")));
  const std::string ten = "=0,1,2,3,4,5,6,7,8,9";
  EXPECT_EQ(grid_trials(trial_space({"a" + ten, "b" + ten, "c" + ten, "d" + ten})).size(), 10'000);
  EXPECT_THAT(
      [&] {
        grid_trials(trial_space({"a" + ten, "b" + ten, "c" + ten, "d" + ten, "e=1,2"}));
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("more than 10000 trials")));
}

TEST(TrialsTest, DrawsAreAFunctionOfSeedNumberAndKey) {
  const SearchSpace space = trial_space({"a=log(1e-4,1e-1)", "b=uniform(0,1)"});
  const std::vector<Trial> few = random_trials(space, 3, 7);
  const std::vector<Trial> more = random_trials(space, 30, 7);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].settings, more[i].settings);
  const std::vector<Trial> other_order =
      random_trials(trial_space({"b=uniform(0,1)", "c=1,2", "a=log(1e-4,1e-1)"}), 3, 7);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].settings[0], other_order[i].settings[2]) << "other keys change nothing";
    EXPECT_EQ(few[i].settings[1], other_order[i].settings[0]);
  }
  EXPECT_EQ(random_trials(trial_space({"+b=uniform(0,1)"}), 1, 7)[0].settings[0],
            few[0].settings[1]);
  EXPECT_NE(random_trials(space, 1, 8)[0].settings, few[0].settings);
  EXPECT_NE(few[0].settings, few[1].settings);
  // By Philox4x32-10 and XXH3 of the key in Python: a sweep that goes on stands on them.
  EXPECT_EQ(describe(few[0]), "a=0.0108954 b=0.305954");
}

TEST(TrialsTest, DrawsFillTheirRange) {
  const SearchSpace space =
      trial_space({"a=log(1e-4,1e-1)", "b=uniform(-1,1)", "c=int(1,4)", "d=x,y"});
  const int count = 2000;
  double logarithms = 0;
  double uniforms = 0;
  std::map<std::string, int> wholes;
  std::map<std::string, int> picks;
  for (const Trial& trial : random_trials(space, count, 1)) {
    const double a = std::stod(trial.settings[0].value);
    EXPECT_GE(a, 1e-4);
    EXPECT_LE(a, 1e-1);
    logarithms += std::log10(a) / count;
    uniforms += std::stod(trial.settings[1].value) / count;
    ++wholes[trial.settings[2].value];
    ++picks[trial.settings[3].value];
  }
  EXPECT_NEAR(logarithms, -2.5, 0.1);
  EXPECT_NEAR(uniforms, 0, 0.06);
  EXPECT_EQ(wholes.size(), 4) << "both ends included";
  for (const auto& [value, times] : wholes) EXPECT_NEAR(times, count / 4, 80) << value;
  EXPECT_NEAR(picks["x"], count / 2, 100);
}

}  // namespace
}  // namespace paceline::launcher
