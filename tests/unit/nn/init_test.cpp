#include "paceline/nn/init.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Init, KaimingNormalScalesByFanOut) {
  const at::Tensor weight = at::empty({64, 8, 3, 3}, at::kDouble);
  kaiming_normal_fan_out(weight, {.seed = 1});
  EXPECT_NEAR(weight.std().item<double>(), std::sqrt(2.0 / (64 * 9)), 0.002);
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 0.003);
}

TEST(Init, DefaultsAreUniformByFanIn) {
  const at::Tensor weight = at::empty({500, 16, 2, 2});
  const at::Tensor bias = at::empty({500});
  default_weight(weight, {.seed = 1});
  default_bias(bias, weight, {.seed = 1, .index = 1});
  for (const at::Tensor& tensor : {weight, bias}) {
    EXPECT_LE(tensor.abs().max().item<double>(), 0.125);
    EXPECT_GT(tensor.max().item<double>(), 0.12);
    EXPECT_LT(tensor.min().item<double>(), -0.12);
  }
}

TEST(Init, TruncatedNormalCutsAtTwo) {
  const at::Tensor tensor = at::empty({10000});
  truncated_normal(tensor, 1.5, {.seed = 1});
  EXPECT_LE(tensor.abs().max().item<double>(), 2.0);
  truncated_normal(tensor, 0.02, {.seed = 1});
  EXPECT_NEAR(tensor.std().item<double>(), 0.02, 0.001);
}

TEST(Init, XavierIsUniformByBothFans) {
  const at::Tensor weight = at::empty({300, 84});
  xavier_uniform(weight, {.seed = 1});
  EXPECT_LE(weight.abs().max().item<double>(), 0.125);
  EXPECT_GT(weight.max().item<double>(), 0.124);
  EXPECT_LT(weight.min().item<double>(), -0.124);
}

TEST(Init, LecunNormalHasTheVarianceOfItsFanInAndIsCut) {
  const at::Tensor weight = at::empty({500, 16, 2, 2});
  lecun_normal(weight, {.seed = 1});
  EXPECT_NEAR(weight.std().item<double>(), 0.125, 0.002);
  const double cut = 2 * 0.125 / 0.87962566103423978;
  EXPECT_LE(weight.abs().max().item<double>(), cut);
  EXPECT_GT(weight.abs().max().item<double>(), 0.97 * cut);
}

TEST(Init, FillsParametersWithoutRecordingIt) {
  const at::Tensor weight = at::empty({4, 4}).requires_grad_();
  default_weight(weight, {.seed = 1});
  EXPECT_TRUE(weight.is_leaf());
}

}  // namespace
}  // namespace paceline::nn
