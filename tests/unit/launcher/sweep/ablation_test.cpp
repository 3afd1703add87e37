#include "paceline/launcher/sweep/ablation.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<std::string> kAlgorithmsOfRecipe{"ema", "mixup"};

TEST(AblationTest, PartsAreAlgorithmsGroupsOrOverrides) {
  EXPECT_THAT(ablation_parts({}, kAlgorithmsOfRecipe),
              ElementsAre(AblationPart{"ema", {"~algorithms.ema"}},
                          AblationPart{"mixup", {"~algorithms.mixup"}}));
  const std::vector<std::string> wanted{"ema+mixup", "loss.label_smoothing=0", "~algorithms.ema"};
  EXPECT_THAT(
      ablation_parts(wanted, kAlgorithmsOfRecipe),
      ElementsAre(AblationPart{"ema+mixup", {"~algorithms.ema", "~algorithms.mixup"}},
                  AblationPart{wanted[1], {wanted[1]}}, AblationPart{wanted[2], {wanted[2]}}));
}

TEST(AblationTest, WhatIsNotThereIsNotLeftOut) {
  const auto expect_error = [](const std::vector<std::string>& wanted,
                               const std::vector<std::string>& algorithms, const char* text) {
    EXPECT_THAT([&] { ablation_parts(wanted, algorithms); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_error({"mixupp"}, kAlgorithmsOfRecipe, "did you mean mixup?");
  expect_error({"frobnicate"}, kAlgorithmsOfRecipe, "it has ema, mixup");
  expect_error({"ema", "ema"}, kAlgorithmsOfRecipe, "--ablate=ema stands there twice");
  expect_error({}, {}, "the recipe has none");
}

TEST(AblationTest, MoreSeedsLeaveTheFirstTrialsAsTheyAre) {
  const auto parts = ablation_parts({}, kAlgorithmsOfRecipe);
  const std::vector<Trial> trials = ablation_trials(parts, 5, 2);
  ASSERT_EQ(trials.size(), 6);
  EXPECT_EQ(describe(trials[0]), "without=nothing run.seed=5");
  EXPECT_THAT(trials[0].on_top, ElementsAre("run.seed=5"));
  EXPECT_THAT(trials[2].on_top, ElementsAre("~algorithms.mixup", "run.seed=5"));
  EXPECT_EQ(describe(trials[4]), "without=ema run.seed=6");
  const std::vector<Trial> more = ablation_trials(parts, 5, 3);
  for (std::size_t i = 0; i < trials.size(); ++i)
    EXPECT_EQ(trials[i].settings, more[i].settings) << i;
}

TEST(AblationTest, AMeanHasAStandardError) {
  EXPECT_FALSE(estimate({}));
  const std::vector<double> one{3};
  EXPECT_EQ(estimate(one)->mean, 3);
  EXPECT_FALSE(estimate(one)->error) << "one sample tells nothing of it";
  const std::vector<double> samples{1, 2, 3, 6};
  EXPECT_NEAR(estimate(samples)->mean, 3, 1e-12);
  // s^2 = (4 + 1 + 0 + 9) / 3
  EXPECT_NEAR(*estimate(samples)->error, std::sqrt(14.0 / 3 / 4), 1e-12);
}

TEST(AblationTest, DifferencesAreThoseOfPairs) {
  const auto parts = ablation_parts({}, kAlgorithmsOfRecipe);
  const std::vector<AblationSample> samples{{0.8, 10}, {0.7, 9}, {0.9, 12},           // seed 0
                                            {0.6, 11}, {0.4, 9}, {std::nullopt, 5}};  // seed 1
  const std::vector<AblationRow> rows = ablation_rows(parts, samples);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_NEAR(rows[0].metric_delta->mean, 0.15, 1e-12);
  EXPECT_NEAR(*rows[0].metric_delta->error, 0.05, 1e-12);
  EXPECT_NEAR(rows[0].whole->mean, 0.7, 1e-12);
  EXPECT_NEAR(rows[0].without->mean, 0.55, 1e-12);
  EXPECT_NEAR(rows[0].step_ms_delta->mean, 1.5, 1e-12);
  EXPECT_NEAR(rows[1].metric_delta->mean, -0.1, 1e-12) << "a seed that failed has no pair";
  EXPECT_EQ(rows[1].metric_delta->count, 1);
  EXPECT_EQ(rows[1].step_ms_delta->count, 2);
  EXPECT_FALSE(ablation_rows(parts, std::vector<AblationSample>{{0.8, 10}, {0.7, 9}})[0].whole)
      << "a seed whose trials are not all there";
}

}  // namespace
}  // namespace paceline::launcher
