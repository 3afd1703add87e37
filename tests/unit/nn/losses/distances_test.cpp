#include "paceline/nn/losses/distances.h"

#include "paceline/base/error.h"
#include "unit/nn/losses/loss_cases.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Distances, TakeIndicesAndProbabilities) {
  for (const auto& loss : {make(MseConfig{}), make(L1Config{}), make(HuberConfig{.delta = 0.4})}) {
    paceline::test::expect_takes_both_targets(*loss);
    paceline::test::expect_ignores_minus_100(*loss);
  }
}

TEST(Distances, AreMeansOverAllElementsOfASample) {
  const at::Tensor outputs = at::zeros({2, 3, 2});
  const at::Tensor targets = at::full({2, 3, 2}, 2.0);
  EXPECT_TRUE(Mse().per_sample(outputs, targets).equal(at::full({2}, 4.0)));
  EXPECT_TRUE(L1().per_sample(outputs, targets).equal(at::full({2}, 2.0)));
  EXPECT_TRUE(Huber({}).per_sample(outputs, targets).equal(at::full({2}, 1.5)));
  EXPECT_THROW(Mse().per_sample(outputs, at::zeros({2, 3})), base::InternalError);
}

}  // namespace
}  // namespace paceline::nn
