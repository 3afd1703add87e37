#include "paceline/nn/losses/poly.h"

#include "unit/nn/losses/loss_cases.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Poly, TakesIndicesAndProbabilities) {
  const Poly loss({});
  paceline::test::expect_takes_both_targets(loss);
  paceline::test::expect_ignores_minus_100(loss);
}

}  // namespace
}  // namespace paceline::nn
