#include "paceline/nn/losses/new_part.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(NewPart, IsTheSumOverSamples) {
  const NewPart loss({.factor = 2.0});
  const double sum = loss.sum(at::zeros({3, 4}), at::zeros({3}, at::kLong)).item<double>();
  EXPECT_NEAR(sum, 2 * 3 * std::log(4.0), 1e-5);
}

}  // namespace
}  // namespace paceline::nn
