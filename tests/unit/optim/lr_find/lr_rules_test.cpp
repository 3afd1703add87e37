#include "paceline/optim/lr_find/lr_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

/// Of rates 1e-5, 1e-4.9 and so on, by a function of the point's number.
template <typename Loss>
LrCurve curve_of(int size, const Loss& loss) {
  LrCurve curve;
  for (int i = 0; i < size; ++i) {
    curve.rates.push_back(std::pow(10, -5 + 0.1 * i));
    curve.losses.push_back(loss(i));
  }
  return curve;
}

TEST(LrRules, FindAPointOfAValley) {
  const LrCurve curve = curve_of(60, [](int i) { return 1 + std::pow((i - 30) / 10.0, 2); });
  // What fastai's rules see begins with the seventh point, and falls to the least and no further.
  const auto means = smoothed(curve.losses, LrFindStyle::kFastai);
  const auto least = std::min_element(means.begin(), means.end() - 5);
  const auto length = static_cast<std::size_t>(least - means.begin()) - 6 + 1;
  EXPECT_EQ(suggested_rate(LrRule::kMinimum, curve, 60), curve.rates[6 + length - 1] / 10);
  EXPECT_EQ(suggested_rate(LrRule::kValley, curve, 60),
            curve.rates[6 - 1 + length / 3 + length / 6]);
  // By the rate itself it falls fastest where rates lie closest.
  EXPECT_EQ(suggested_rate(LrRule::kSteepest, curve, 60), curve.rates[10]);
}

TEST(LrRules, TellNothingOfTooFewPoints) {
  for (const LrRule rule : kLrRules) {
    EXPECT_FALSE(suggested_rate(rule, {}, 100)) << config::enum_name(rule);
    EXPECT_FALSE(suggested_rate(rule, curve_of(11, [](int i) { return 3.0 - 0.1 * i; }), 60))
        << config::enum_name(rule);
  }
}

TEST(LrRules, StopAtALossThatIsNoNumber) {
  const auto falls = [](int i) {
    return i < 50 ? 5 - 0.1 * i : std::numeric_limits<double>::quiet_NaN();
  };
  const LrCurve curve = curve_of(70, falls);
  const auto least = suggested_rate(LrRule::kMinimum, curve, 70);
  ASSERT_TRUE(least);
  EXPECT_NEAR(*least, curve.rates[49] / 10, 1e-12);
  EXPECT_TRUE(suggested_rate(LrRule::kSteepest, curve, 70));
}

TEST(LrRules, OfALossThatNeverFallsTheValleyIsTheFirstRate) {
  const LrCurve curve = curve_of(60, [](int i) { return 1 + 0.1 * i; });
  EXPECT_EQ(suggested_rate(LrRule::kValley, curve, 60), curve.rates[6]);
}

TEST(LrRules, EachLibraryHasItsOwn) {
  EXPECT_EQ(usual_rule(LrFindStyle::kFastai), LrRule::kValley);
  EXPECT_EQ(usual_rule(LrFindStyle::kLightning), LrRule::kSteepest);
}

}  // namespace
}  // namespace paceline::optim
