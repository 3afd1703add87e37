#include "paceline/data/sources/ct/ct_noise.h"

#include "paceline/data/sources/ct/ct_projector.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

base::Philox noise_draws(std::uint64_t number) { return {1, base::DrawPurpose::kTest, number, 0}; }

TEST(CtNoise, NumbersHavePoissonsMeanAndVariance) {
  constexpr int kCount = 20000;
  for (const double mean : {0.3, 5.0, 60.0, 300.0}) {
    base::Philox draws = noise_draws(1);
    double sum = 0;
    double squares = 0;
    int none = 0;
    for (int i = 0; i < kCount; ++i) {
      const double number = draw_poisson(mean, draws);
      ASSERT_EQ(number, std::floor(number));
      ASSERT_GE(number, 0);
      sum += number;
      squares += number * number;
      none += number == 0 ? 1 : 0;
    }
    const double found = sum / kCount;
    EXPECT_NEAR(found, mean, 5 * std::sqrt(mean / kCount));
    EXPECT_NEAR(squares / kCount - found * found, mean, 0.06 * mean + 0.02);
    if (mean < 1) {
      EXPECT_NEAR(static_cast<double>(none) / kCount, std::exp(-mean), 0.02);
    }
  }
}

TEST(CtNoise, IsStrongerBehindMoreTissue) {
  constexpr double kFov = 300;
  constexpr double kPhotons = 1e5;
  for (const float integral : {0.0F, 0.3F, 0.8F}) {
    base::Philox draws = noise_draws(2);
    std::vector<float> pixels(20000, integral);
    add_photon_noise(pixels, kFov, kPhotons, draws);
    double sum = 0;
    double squares = 0;
    for (const float value : pixels) {
      sum += value;
      squares += std::pow(static_cast<double>(value) - integral, 2);
    }
    const double per_unit = kWaterPerMm * kFov;
    // -log(n) of a count n of mean m spreads by 1 / sqrt(m).
    const double wanted = 1 / std::sqrt(kPhotons * std::exp(-per_unit * integral)) / per_unit;
    EXPECT_NEAR(sum / 20000, integral, 0.1 * wanted);
    EXPECT_NEAR(std::sqrt(squares / 20000), wanted, 0.05 * wanted);
  }
}

TEST(CtNoise, IsFiniteWhereNoPhotonComesThrough) {
  base::Philox draws = noise_draws(3);
  std::vector<float> pixels(100, 30.0F);
  add_photon_noise(pixels, 400, 10, draws);
  for (const float value : pixels)
    EXPECT_NEAR(value, std::log(10) / (kWaterPerMm * 400), 1e-6) << "one counted";
}

}  // namespace
}  // namespace paceline::data
