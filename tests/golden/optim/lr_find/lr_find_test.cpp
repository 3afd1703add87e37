// Against fastai's and Lightning's learning rate finders; see make_lr_find.py.

#include "paceline/optim/lr_find/lr_rules.h"
#include "support/parity.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim {
namespace {

constexpr double kOfFloat32 = 1e-5;  // in which fastai smooths

double loss_of(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

LrRange range_of(const nlohmann::json& golden) {
  return {.style = golden["style"] == "fastai" ? LrFindStyle::kFastai : LrFindStyle::kLightning,
          .low = golden["low"],
          .high = golden["high"],
          .num_steps = golden["num_steps"]};
}

/// Rates differ by powers of ten.
void expect_rate(const std::string& what, double got, double wanted) {
  test::expect_reference("lr_find", what + ", logarithm", std::log(got), std::log(wanted), 1e-9);
}

/// The test that our law runs over the file's losses.
LrCurve run_test(const LrRange& range, const nlohmann::json& losses) {
  LrCurve curve;
  for (std::int64_t step = 0; step < range.num_steps; ++step) {
    curve.rates.push_back(range.rate(step));
    curve.losses.push_back(loss_of(losses[static_cast<std::size_t>(step)]));
    if (std::isnan(curve.losses.back()) ||
        has_diverged(smoothed(curve.losses, range.style), range.style))
      break;
  }
  return curve;
}

TEST(GoldenLrFind, TestsAndSuggestionsAreTheirs) {
  const auto golden =
      nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/lr_find/lr_find.json"));
  ASSERT_EQ(golden["curves"].size(), 50u);
  for (const nlohmann::json& each : golden["curves"]) {
    const LrRange range = range_of(each);
    const LrCurve curve = run_test(range, each["losses"]);
    ASSERT_EQ(curve.rates.size(), each["rates"].size()) << "the test ends where theirs does";
    const std::vector<double> means = smoothed(curve.losses, range.style);
    for (std::size_t i = 0; i < means.size(); ++i) {
      expect_rate("rates", curve.rates[i], each["rates"][i]);
      if (std::isnan(means[i])) {
        EXPECT_TRUE(each["smoothed"][i].is_null());
      } else {
        test::expect_reference("lr_find", "smoothed losses", means[i], each["smoothed"][i],
                               kOfFloat32);
      }
    }
    for (const LrRule rule : kLrRules) {
      const std::string name(config::enum_name(rule));
      SCOPED_TRACE(name);
      const auto found = suggested_rate(rule, curve, range.num_steps);
      ASSERT_EQ(found.has_value(), !each["rules"][name].is_null());
      if (found) expect_rate(name + ": rate", *found, each["rules"][name]);
    }
  }
}

}  // namespace
}  // namespace paceline::optim
