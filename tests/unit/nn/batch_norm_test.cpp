#include "paceline/nn/batch_norm.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor images() { return at::linspace(-3, 5, 4 * 2 * 3 * 3).view({4, 2, 3, 3}); }

TEST(BatchNorm2d, TrainingNormalisesByTheBatchAndMovesTheStatistics) {
  BatchNorm2d norm(2);
  const at::Tensor x = images();
  const at::Tensor y = norm.forward(x);
  EXPECT_TRUE(at::allclose(y.mean({0, 2, 3}), at::zeros({2}), 0, 1e-5));
  EXPECT_TRUE(at::allclose(norm.running_mean, 0.1 * x.mean({0, 2, 3})));
  EXPECT_TRUE(
      at::allclose(norm.running_var, 0.9 + 0.1 * x.transpose(0, 1).reshape({2, -1}).var(1)));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 1);
}

TEST(BatchNorm2d, FrozenAndEvaluationUseTheRunningStatistics) {
  BatchNorm2d norm(2);
  norm.running_mean.fill_(2.0);
  norm.running_var.fill_(4.0);
  const at::Tensor wanted = (images() - 2.0) / std::sqrt(4.0 + 1e-5);
  norm.set_frozen(true);
  EXPECT_TRUE(at::allclose(norm.forward(images()), wanted, 1e-5, 1e-6));
  norm.set_frozen(false);
  norm.eval();
  EXPECT_TRUE(at::allclose(norm.forward(images()), wanted, 1e-5, 1e-6));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 0);
  EXPECT_EQ(norm.running_mean[0].item<double>(), 2.0);
}

TEST(BatchNorm2d, FrozenStatisticsLeaveWeightAndBiasTrainable) {
  BatchNorm2d norm(2);
  norm.set_frozen(true);
  norm.forward(images()).sum().backward();
  EXPECT_TRUE(norm.weight.grad().defined());
  EXPECT_TRUE(at::allclose(norm.bias.grad(), at::full({2}, 36.0)));
}

TEST(BatchNorm2d, AKernelReplacesTheLocalStatisticsInTrainingOnly) {
  BatchNorm2d norm(2);
  norm.set_training_kernel(
      [](const at::Tensor& input, const BatchNorm2d& self) { return input * self.eps(); });
  EXPECT_TRUE(at::equal(norm.forward(images()), images() * 1e-5));
  EXPECT_EQ(norm.num_batches_tracked.item<std::int64_t>(), 1);
  norm.eval();
  EXPECT_TRUE(at::allclose(norm.forward(images()), images(), 1e-4, 1e-4));
}

TEST(BatchNorm2d, OneValuePerChannelIsAnErrorInTraining) {
  BatchNorm2d norm(2);
  EXPECT_THROW(norm.forward(at::ones({1, 2, 1, 1})), base::ConfigError);
  norm.eval();
  EXPECT_NO_THROW(norm.forward(at::ones({1, 2, 1, 1})));
}

TEST(BatchNorm2d, FreezingATreeReachesEveryNorm) {
  auto tree = std::make_shared<torch::nn::Module>();
  const auto below = tree->register_module("below", std::make_shared<torch::nn::Module>());
  const auto first = tree->register_module("first", std::make_shared<BatchNorm2d>(2));
  const auto second = below->register_module("second", std::make_shared<BatchNorm2d>(2));
  EXPECT_EQ(set_batch_norm_frozen(*tree, true), 2);
  EXPECT_FALSE(first->uses_batch_statistics() || second->uses_batch_statistics());
  set_batch_norm_frozen(*tree, false);
  EXPECT_TRUE(first->uses_batch_statistics() && second->uses_batch_statistics());
}

}  // namespace
}  // namespace paceline::nn
