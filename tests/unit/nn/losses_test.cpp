#include "paceline/nn/losses.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"
#include "paceline/tensor/autocast.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

const at::Tensor& logits() {
  static const at::Tensor values =
      at::tensor({0.0, 1.0, 2.0, 3.0, -1.0, 0.5}).view({2, 3}).to(at::kDouble);
  return values;
}

double minus_log_softmax(int row, int column) {
  return -at::log_softmax(logits(), 1)[row][column].item<double>();
}

TEST(CrossEntropy, SumsOverTheSamples) {
  const at::Tensor targets = at::tensor({2, 0}, at::kLong);
  const double loss = CrossEntropy({}).sum(logits(), targets).item<double>();
  EXPECT_NEAR(loss, minus_log_softmax(0, 2) + minus_log_softmax(1, 0), 1e-14);
}

TEST(CrossEntropy, SmoothingMixesInTheUniformDistribution) {
  const at::Tensor targets = at::tensor({1, 1}, at::kLong);
  const double smooth =
      CrossEntropy({.label_smoothing = 0.3}).sum(logits(), targets).item<double>();
  double uniform = 0;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 3; ++column) uniform += minus_log_softmax(row, column) / 3.0;
  }
  const double hard = minus_log_softmax(0, 1) + minus_log_softmax(1, 1);
  EXPECT_NEAR(smooth, 0.7 * hard + 0.3 * uniform, 1e-14);
}

TEST(CrossEntropy, TakesProbabilitiesAndSkipsMaskedSamples) {
  const at::Tensor indices = at::tensor({2, 0}, at::kLong);
  const at::Tensor one_hot = at::one_hot(indices, 3).to(at::kDouble);
  const CrossEntropy loss({.label_smoothing = 0.1});
  EXPECT_NEAR(loss.sum(logits(), one_hot).item<double>(),
              loss.sum(logits(), indices).item<double>(), 1e-14);
  const at::Tensor masked = at::tensor({2, -100}, at::kLong);
  EXPECT_NEAR(loss.sum(logits(), masked).item<double>(),
              loss.sum(logits().slice(0, 0, 1), indices.slice(0, 0, 1)).item<double>(), 1e-14);
}

TEST(CrossEntropy, UnderAutocastItIsComputedInFloat32) {
  const CrossEntropy loss({.label_smoothing = 0.1});
  const at::Tensor indices = at::tensor({2, 0}, at::kLong);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor reduced = logits().mul(1.7).to(dtype);
    const at::Tensor expected = loss.sum(reduced.to(at::kFloat), indices);
    const tensor::AutocastGuard autocast(at::kCPU, dtype);
    EXPECT_TRUE(at::equal(loss.sum(reduced, indices), expected)) << "and the type is the same";
    const at::Tensor one_hot = at::one_hot(indices, 3).to(at::kFloat);
    EXPECT_EQ(loss.sum(reduced, one_hot).scalar_type(), at::kFloat);
  }
}

TEST(CrossEntropy, SmoothsProbabilitiesToTorchsBits) {
  const at::Tensor targets = at::softmax(logits().flip(1), 1).to(at::kFloat);
  const at::Tensor outputs = logits().to(at::kFloat);
  const at::Tensor expected =
      at::cross_entropy_loss(outputs, targets, {}, at::Reduction::Sum, -100, 0.1);
  EXPECT_TRUE(CrossEntropy({.label_smoothing = 0.1}).sum(outputs, targets).equal(expected));
}

TEST(CrossEntropy, WhatIsNoClassIsSmoothedByNothing) {
  const CrossEntropy loss({.label_smoothing = 0.1});
  const at::Tensor first = at::tensor({2, -100}, at::kLong);
  const at::Tensor second = at::tensor({-100, 0}, at::kLong);
  const at::Tensor mixed = 0.7 * as_probabilities(first, 3, at::kDouble) +
                           0.3 * as_probabilities(second, 3, at::kDouble);
  const at::Tensor expected = 0.7 * loss.sum(logits(), first) + 0.3 * loss.sum(logits(), second);
  EXPECT_NEAR(loss.sum(logits(), mixed).item<double>(), expected.item<double>(), 1e-14);
}

TEST(CrossEntropy, WeighsClasses) {
  const CrossEntropy loss({.class_weights = {1.0, 0.5, 2.0}});
  loss.check_num_outputs(3);
  EXPECT_THROW(loss.check_num_outputs(4), base::ConfigError);
  const at::Tensor targets = at::tensor({2, 1}, at::kLong);
  EXPECT_NEAR(loss.sum(logits(), targets).item<double>(),
              2 * minus_log_softmax(0, 2) + 0.5 * minus_log_softmax(1, 1), 1e-14);
  EXPECT_TRUE(loss.per_sample(logits(), targets).sum().allclose(loss.sum(logits(), targets)));
}

TEST(CrossEntropy, RefusesSmoothingOutsideItsRange) {
  EXPECT_THROW(CrossEntropy({.label_smoothing = 1.5}), base::ConfigError);
}

}  // namespace
}  // namespace paceline::nn
