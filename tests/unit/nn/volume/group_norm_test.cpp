#include "paceline/nn/volume/group_norm.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// [2, 8, 3, 4] around 5, so that a mean matters.
at::Tensor group_values() {
  return at::arange(192, at::kFloat).mul(12.9898).sin().add(5.0).view({2, 8, 3, 4});
}

TEST(GroupNorm, EachGroupHasMeanZeroAndVarianceOne) {
  GroupNorm norm(4, 8);
  const at::Tensor groups = norm.forward(group_values()).view({2, 4, 24});
  EXPECT_LT(groups.mean(2).abs().max().item<double>(), 1e-5);
  EXPECT_LT((groups.var(2, /*unbiased=*/false) - 1).abs().max().item<double>(), 1e-4);
}

TEST(GroupNorm, KeepsTheInputsTypeUnderAutocast) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    GroupNorm norm(4, 8);
    const at::Tensor input = group_values().to(dtype);
    const at::Tensor exact = norm.forward(input.to(at::kFloat));
    const tensor::AutocastGuard autocast(at::kCPU, dtype);
    const at::Tensor got = norm.forward(input);
    EXPECT_EQ(got.scalar_type(), dtype);
    EXPECT_LT((got.to(at::kFloat) - exact).abs().max().item<double>(),
              dtype == at::kHalf ? 2e-3 : 2e-2);
    got.sum().backward();
    EXPECT_EQ(norm.bias.grad().scalar_type(), at::kFloat);
    EXPECT_TRUE(norm.bias.grad().equal(at::full({8}, 24.0F)));
  }
}

}  // namespace
}  // namespace paceline::nn
