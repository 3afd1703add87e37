#include "paceline/data/transforms/named/color/gaussian_blur.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(GaussianBlurTransform, TakesAnyDeviationOfItsRange) {
  double sum = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Plan plan =
        plan_of(GaussianBlurConfig{.kernel_size = {3, 5}, .sigma = {0.5, 1.5}}, {60, 80}, position);
    const auto& step = std::get<GaussianBlurStep>(plan.at(0));
    EXPECT_EQ(step.kernel_size, (ImageSize{3, 5}));
    EXPECT_GE(step.sigma, 0.5);
    EXPECT_LE(step.sigma, 1.5);
    sum += step.sigma;
  }
  EXPECT_NEAR(sum / 2000, 1.0, 0.03);
}

TEST(GaussianBlurTransform, RefusesWhatHasNoMiddleAndWhatDoesNotFit) {
  EXPECT_THAT(
      [] {
        make(GaussianBlurConfig{.kernel_size = {3, 4}})->check();
      },
      testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("must be odd")));
  EXPECT_THROW(make(GaussianBlurConfig{.sigma = {2, 1}})->check(), base::ConfigError);
  EXPECT_THROW(plan_of(GaussianBlurConfig{.kernel_size = 9}, {4, 80}, 0), base::DataError);
  EXPECT_NO_THROW(plan_of(GaussianBlurConfig{.kernel_size = 9}, {5, 80}, 0));
}

}  // namespace
}  // namespace paceline::data
