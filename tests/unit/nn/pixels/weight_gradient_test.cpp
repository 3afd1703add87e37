#include "paceline/nn/pixels/weight_gradient.h"

#include "paceline/nn/matmul.h"
#include "paceline/tensor/autocast.h"
#include "paceline/tensor/torch.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// Numbers that float32 holds, whose sums do not cancel.
at::Tensor weight_wave(const std::vector<std::int64_t>& sizes, double step) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble)
      .mul_(step)
      .sin_()
      .add_(0.75)
      .to(at::kFloat)
      .view(sizes)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

struct WeightCase {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> weight;
  ConvolutionShape shape = {};
};

const std::vector<WeightCase> kOwnWeights{
    {{1, 12, 56, 56}, {20, 12, 1, 1}},
    {{3, 7, 37, 41}, {5, 7, 1, 1}, {2, 0, 1}},
    {{2, 7, 1, 1}, {5, 7, 1, 1}},
    {{2, 20, 9, 8}, {20, 1, 3, 3}, {1, 1, 20}},  //
    {{2, 20, 9, 8}, {20, 1, 5, 5}, {2, 2, 20}},
};

const std::vector<WeightCase> kLibTorchsWeights{
    {{1, 12, 14, 14}, {20, 12, 1, 1}, {1, 1, 1}}, {{1, 12, 56, 56}, {20, 6, 1, 1}, {1, 0, 2}},
    {{2, 20, 9, 8}, {40, 1, 3, 3}, {1, 1, 20}},  // several kernels for a channel
    {{2, 20, 9, 8}, {20, 1, 3, 3}, {1, 0, 20}},  // no padding
    {{2, 20, 9, 8}, {20, 1, 3, 3}, {3, 1, 20}},   {{2, 20, 9, 8}, {20, 1, 9, 9}, {1, 4, 20}},
};

/// The gradients of input and weight by one of both functions.
template <class Convolve>
std::vector<at::Tensor> gradients_by(const Convolve& convolve, const WeightCase& wanted,
                                     at::ScalarType type) {
  const at::Tensor input = weight_wave(wanted.input, 0.7).to(type).requires_grad_();
  const at::Tensor weight = weight_wave(wanted.weight, 1.3).to(type).requires_grad_();
  const at::Tensor output = convolve(input, weight);
  std::vector<std::int64_t> sizes = output.sizes().vec();
  output.backward(weight_wave(sizes, 0.37).to(type));
  return {output.detach(), input.grad(), weight.grad()};
}

bool has_own(const WeightCase& wanted, at::ScalarType type) {
  return has_weight_gradient(weight_wave(wanted.input, 0.7).to(type),
                             weight_wave(wanted.weight, 1.3).to(type), wanted.shape);
}

TEST(WeightGradient, IsLibTorchs) {
  for (const WeightCase& wanted : kOwnWeights) {
    SCOPED_TRACE(testing::PrintToString(wanted.input) + testing::PrintToString(wanted.weight));
    EXPECT_TRUE(has_own(wanted, at::kFloat));
    const ConvolutionShape& shape = wanted.shape;
    const auto own = [&](const at::Tensor& input, const at::Tensor& weight) {
      return conv2d(input, weight, {}, shape.stride, shape.padding, shape.groups);
    };
    const auto libtorchs = [&](const at::Tensor& input, const at::Tensor& weight) {
      return at::conv2d(input, weight, {}, shape.stride, shape.padding, 1, shape.groups);
    };
    const auto got = gradients_by(own, wanted, at::kFloat);
    const auto twins = gradients_by(libtorchs, wanted, at::kFloat);
    const auto exact = gradients_by(libtorchs, wanted, at::kDouble);
    EXPECT_TRUE(at::equal(got[0], twins[0]));
    EXPECT_TRUE(at::equal(got[1], twins[1]));
    EXPECT_EQ(got[2].strides(), weight_wave(wanted.weight, 1.0).strides());
    const double apart = (got[2].to(at::kDouble) - exact[2]).abs().max().item<double>();
    EXPECT_LE(apart, 3e-6 * exact[2].abs().max().item<double>());
    EXPECT_TRUE(at::equal(gradients_by(own, wanted, at::kDouble)[2], exact[2]));
  }
}

TEST(WeightGradient, IsLeftToLibTorchElsewhere) {
  for (const WeightCase& wanted : kLibTorchsWeights) {
    SCOPED_TRACE(testing::PrintToString(wanted.input) + testing::PrintToString(wanted.weight));
    EXPECT_FALSE(has_own(wanted, at::kFloat));
  }
  EXPECT_FALSE(has_own(kOwnWeights[0], at::kDouble));
  EXPECT_FALSE(has_own(kOwnWeights[3], at::kBFloat16));
  const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
  const at::Tensor input = weight_wave(kOwnWeights[0].input, 0.7).to(at::kFloat);
  const at::Tensor weight = weight_wave(kOwnWeights[0].weight, 0.7).to(at::kFloat).requires_grad_();
  EXPECT_EQ(conv2d(input, weight, {}, 1, 0).scalar_type(), at::kBFloat16);
}

TEST(WeightGradient, DoesNotDependOnTheNumberOfThreads) {
  const std::array cases{kOwnWeights[3], WeightCase{{4, 40, 40, 41}, {40, 1, 3, 3}, {1, 1, 40}},
                         WeightCase{{4, 40, 40, 41}, {40, 1, 5, 5}, {2, 2, 40}},
                         WeightCase{{16, 256, 7, 7}, {256, 1, 3, 3}, {1, 1, 256}}};
  for (const WeightCase& wanted : cases) {
    const at::Tensor input = weight_wave(wanted.input, 0.7).to(at::kFloat);
    const at::Tensor weight = weight_wave(wanted.weight, 1.3).to(at::kFloat);
    const at::Tensor grad = at::conv2d(input, weight, {}, wanted.shape.stride, wanted.shape.padding,
                                       1, wanted.shape.groups)
                                .sin();
    const int before = at::get_num_threads();
    at::set_num_threads(1);
    const at::Tensor alone = weight_gradient(grad, input, weight, wanted.shape);
    at::set_num_threads(2);
    const at::Tensor together = weight_gradient(grad, input, weight, wanted.shape);
    at::set_num_threads(before);
    EXPECT_TRUE(at::equal(alone, together)) << testing::PrintToString(wanted.weight);
  }
}

TEST(WeightGradient, IsNotMadeForAFrozenWeight) {
  const at::Tensor input = weight_wave(kOwnWeights[3].input, 0.7).to(at::kFloat).requires_grad_();
  const at::Tensor weight = weight_wave(kOwnWeights[3].weight, 0.7).to(at::kFloat);
  conv2d(input, weight, {}, 1, 1, 20).sum().backward();
  EXPECT_TRUE(input.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

}  // namespace
}  // namespace paceline::nn
