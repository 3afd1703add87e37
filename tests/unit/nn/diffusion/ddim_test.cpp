#include "paceline/nn/diffusion/ddim.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Ddim, ANetworkThatKnowsTheSampleGivesIt) {
  const NoiseSchedule schedule;
  const at::Tensor truth = at::linspace(-1, 1, 8, at::kDouble);
  const Denoise knows = [&](const at::Tensor&, std::int64_t) { return truth; };
  for (const StepSpacing spacing : {StepSpacing::kTrailing, StepSpacing::kLinspace}) {
    for (const std::int64_t count : {1, 3, 50}) {
      const at::Tensor sample =
          sample_ddim(schedule, truth.cos(), sampling_steps(schedule, count, spacing), knows);
      EXPECT_TRUE(sample.equal(truth)) << count;
    }
  }
}

TEST(Ddim, NoiseIsWhatIsLeftOfTheCutOffSample) {
  const NoiseSchedule schedule;
  const at::Tensor noisy = at::full({1}, 2.0, at::kDouble);
  const at::Tensor next = ddim_step(schedule, noisy, at::full({1}, 7.0, at::kDouble), 600, 300);
  const double kept = schedule.kept_at(600);
  const double noise = (2 - std::sqrt(kept)) / std::sqrt(1 - kept);
  const double before = schedule.kept_at(300);
  EXPECT_NEAR(next.item<double>(), std::sqrt(before) + std::sqrt(1 - before) * noise, 1e-12);
}

TEST(Ddim, BeginsWhereAllIsNoise) {
  const NoiseSchedule schedule;
  EXPECT_EQ(sampling_steps(schedule, 1, StepSpacing::kTrailing).front(), 999);
  EXPECT_EQ(sampling_steps(schedule, 1, StepSpacing::kLinspace).front(), 999);
  EXPECT_EQ(sampling_steps(schedule, 2, StepSpacing::kLinspace),
            (std::vector<std::int64_t>{999, 0}));
  EXPECT_THROW(sampling_steps(schedule, 0, StepSpacing::kTrailing), base::ConfigError);
  EXPECT_THROW(sampling_steps(schedule, 1001, StepSpacing::kTrailing), base::ConfigError);
}

}  // namespace
}  // namespace paceline::nn
