#include "paceline/nn/global_response_norm.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(GlobalResponseNorm, StartsAsTheIdentity) {
  const at::Tensor x = at::linspace(-1, 1, 2 * 3 * 4).view({2, 3, 4});
  EXPECT_TRUE(at::equal(GlobalResponseNorm(4).forward(x), x));
}

TEST(GlobalResponseNorm, ScalesByTheNormOverItsMean) {
  const GlobalResponseNorm norm(2);
  const at::NoGradGuard no_grad;
  norm.weight.fill_(2.0);
  norm.bias.fill_(0.5);
  // The channels' norms are 5 and 15, their mean is 10.
  const at::Tensor x = at::tensor({3.0, 9.0, -4.0, 12.0}, at::kDouble).view({1, 2, 2});
  const at::Tensor wanted = at::tensor({6.5, 36.5, -7.5, 48.5}, at::kDouble).view({1, 2, 2});
  EXPECT_TRUE(at::allclose(norm.forward(x), wanted, 1e-6));
}

// What a sample becomes does not depend on those beside it.
TEST(GlobalResponseNorm, LooksAtOneSample) {
  const GlobalResponseNorm norm(4);
  const at::NoGradGuard no_grad;
  norm.weight.fill_(1.0);
  const at::Tensor x = at::linspace(-1, 3, 3 * 5 * 4).view({3, 5, 4});
  EXPECT_TRUE(at::equal(norm.forward(x)[1], norm.forward(x.slice(0, 1, 2))[0]));
}

}  // namespace
}  // namespace paceline::nn
