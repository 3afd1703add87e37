#include "paceline/nn/diffusion/noise_schedule.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(NoiseSchedule, LeavesLessAndLess) {
  const NoiseSchedule schedule;
  EXPECT_EQ(schedule.num_steps(), 1000);
  EXPECT_GT(schedule.kept_at(0), 0.9998);
  for (std::int64_t step = 1; step < 1000; ++step)
    EXPECT_LT(schedule.kept_at(step), schedule.kept_at(step - 1));
  EXPECT_GT(schedule.kept_at(999), 0) << "the last step keeps a trace, by which x_0 can be told";
  EXPECT_LT(schedule.kept_at(999), 1e-6);
}

TEST(NoiseSchedule, EachSampleHasItsOwnStep) {
  const NoiseSchedule schedule(10);
  const at::Tensor samples = at::ones({2, 3, 4});
  const at::Tensor steps = at::tensor({0, 9}, at::kLong);
  const at::Tensor noisy = add_noise(schedule, samples, at::zeros_like(samples), steps);
  EXPECT_FLOAT_EQ(noisy[0][0][0].item<float>(), static_cast<float>(std::sqrt(schedule.kept_at(0))));
  EXPECT_FLOAT_EQ(noisy[1][2][3].item<float>(), static_cast<float>(std::sqrt(schedule.kept_at(9))));
  EXPECT_EQ(noisy.scalar_type(), at::kFloat);
}

TEST(NoiseSchedule, SamplesThatAreRightHaveTheTrueVelocity) {
  const NoiseSchedule schedule;
  const at::Tensor samples = at::linspace(-1, 1, 24, at::kDouble).view({4, 6});
  const at::Tensor noise = samples.flip(0).cos();
  const at::Tensor steps = at::tensor({0, 400, 800, 999}, at::kLong);
  const at::Tensor noisy = add_noise(schedule, samples, noise, steps);
  EXPECT_TRUE(velocity_of_samples(schedule, noisy, samples, steps)
                  .allclose(velocity(schedule, samples, noise, steps), 1e-9, 1e-9));
  // At the first step v is nearly the noise, at the last nearly the negative sample.
  const at::Tensor wanted = velocity(schedule, samples, noise, steps);
  EXPECT_TRUE(wanted[0].allclose(noise[0], 0, 0.02));
  EXPECT_TRUE(wanted[3].allclose(-samples[3], 0, 0.02));
}

TEST(NoiseSchedule, WeightsAreOneWithoutGamma) {
  const NoiseSchedule schedule;
  const at::Tensor steps = at::tensor({0, 500, 999}, at::kLong);
  EXPECT_TRUE(velocity_weights(schedule, steps, {}).equal(at::ones({3}, at::kDouble)));
  const at::Tensor weights = velocity_weights(schedule, steps, 5.0);
  EXPECT_NEAR(weights[0].item<double>(), 5 * (1 - schedule.kept_at(0)), 1e-12);
  EXPECT_NEAR(weights[2].item<double>(), schedule.kept_at(999), 1e-12);
}

TEST(NoiseSchedule, RefusesOneStep) { EXPECT_THROW(NoiseSchedule(1), base::ConfigError); }

}  // namespace
}  // namespace paceline::nn
