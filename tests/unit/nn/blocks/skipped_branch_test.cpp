#include "paceline/nn/blocks/skipped_branch.h"

#include "paceline/nn/conv.h"
#include "paceline/nn/linear.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(SkippedBranch, GivesItsParametersGradientsOfZero) {
  Conv2d conv(2, 3, 3, {.bias = true});
  Linear linear(4, 5);
  linear.weight.requires_grad_(false);
  {
    const at::NoGradGuard no_grad;
    conv.weight.fill_(std::numeric_limits<float>::infinity());
    linear.bias.fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const at::Tensor x = at::ones({2, 2}).requires_grad_();
  const at::Tensor y = add_nothing_of(x, std::array<const torch::nn::Module*, 2>{&conv, &linear});
  EXPECT_TRUE(y.equal(x)) << "whatever the weights are";
  y.sum().backward();
  EXPECT_TRUE(x.grad().equal(at::ones({2, 2})));
  for (const at::Tensor& parameter : {conv.weight, conv.bias, linear.bias}) {
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_TRUE(parameter.grad().equal(at::zeros_like(parameter)));
  }
  EXPECT_FALSE(linear.weight.grad().defined()) << "it is frozen";
}

}  // namespace
}  // namespace paceline::nn
