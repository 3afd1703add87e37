#include "paceline/nn/matmul.h"

#include "paceline/nn/rerun.h"
#include "paceline/tensor/autocast.h"

#include <functional>
#include <optional>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using Inputs = std::vector<at::Tensor>;
using Operation = std::function<at::Tensor(const Inputs&)>;

/// The result and the gradients of all inputs.
Inputs result_and_gradients(const Operation& operation, const Inputs& values) {
  Inputs leaves;
  for (const at::Tensor& value : values) leaves.push_back(value.clone().requires_grad_());
  Inputs found{operation(leaves)};
  found[0].backward(
      at::linspace(-1, 1, found[0].numel()).view(found[0].sizes()).to(found[0].dtype()));
  for (const at::Tensor& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

/// A second run gives the memory of the first one's result, and the gradients of LibTorch.
void expect_kept(const Operation& operation, const Operation& torchs, const Inputs& values,
                 std::optional<at::ScalarType> autocast) {
  const tensor::AutocastGuard guard(at::kCPU, autocast);
  const Inputs wanted = result_and_gradients(torchs, values);
  Rerun rerun(/*keeps_matmuls=*/true);
  at::Tensor first;
  {
    const at::NoGradGuard no_grad;
    const Rerun::Scope scope(rerun);
    first = operation(values);
  }
  EXPECT_TRUE(at::equal(first, wanted[0]));
  const Rerun::Scope scope(rerun);
  const Inputs actual = result_and_gradients(operation, values);
  EXPECT_EQ(actual[0].data_ptr(), first.data_ptr());
  EXPECT_EQ(actual[0].dtype(), wanted[0].dtype());
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    EXPECT_TRUE(at::equal(actual[i], wanted[i])) << "input " << i;
    EXPECT_EQ(actual[i].strides(), wanted[i].strides()) << "input " << i;
  }
}

class Matmul : public testing::TestWithParam<std::optional<at::ScalarType>> {};

TEST_P(Matmul, LinearIsKeptAndHasTorchsGradients) {
  expect_kept([](const Inputs& in) { return linear(in[0], in[1], in[2]); },
              [](const Inputs& in) { return at::linear(in[0], in[1], in[2]); },
              {at::linspace(-1, 1, 6 * 5).view({6, 5}), at::linspace(-2, 1, 7 * 5).view({7, 5}),
               at::linspace(0, 1, 7)},
              GetParam());
}

TEST_P(Matmul, ConvolutionIsKeptAndHasTorchsGradients) {
  const at::Tensor images = at::linspace(-1, 1, 2 * 3 * 8 * 8).view({2, 3, 8, 8});
  const at::Tensor weight = at::linspace(-2, 1, 4 * 3 * 9).view({4, 3, 3, 3});
  expect_kept([](const Inputs& in) { return conv2d(in[0], in[1], {}, 2, 1); },
              [](const Inputs& in) { return at::conv2d(in[0], in[1], {}, 2, 1); }, {images, weight},
              GetParam());
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  expect_kept(
      [](const Inputs& in) { return conv2d(in[0], in[1], in[2], 1, 0); },
      [](const Inputs& in) { return at::conv2d(in[0], in[1], in[2]); },
      {images.contiguous(channels_last), weight.contiguous(channels_last), at::linspace(0, 1, 4)},
      GetParam());
  expect_kept([](const Inputs& in) { return conv2d(in[0], in[1], {}, 1, 1, 3); },
              [](const Inputs& in) { return at::conv2d(in[0], in[1], {}, 1, 1, 1, 3); },
              {images, at::linspace(-2, 1, 6 * 9).view({6, 1, 3, 3})}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, Matmul, testing::Values(std::nullopt, at::kBFloat16),
                         [](const auto& of) { return of.param ? "bfloat16" : "float32"; });

TEST(MatmulAttention, IsKeptAndHasTorchsGradients) {
  const at::Tensor values = at::linspace(-1, 1, 2 * 2 * 6 * 8).view({2, 2, 6, 8});
  expect_kept(
      [](const Inputs& in) { return attention(in[0], in[1], in[2]); },
      [](const Inputs& in) { return at::scaled_dot_product_attention(in[0], in[1], in[2]); },
      {values, values.flip(2) * 0.5, values.sin()}, std::nullopt);
}

TEST(MatmulAttention, OfSmallHeadsHasTheSameBitsIfKept) {
  const at::Tensor values = at::linspace(-1, 1, 2 * 2 * 6 * 16).view({2, 2, 6, 16});
  const auto compute = [](const Inputs& in) { return attention(in[0], in[1], in[2]); };
  expect_kept(compute, compute, {values, values.flip(2) * 0.5, values.sin()}, std::nullopt);
}

TEST(MatmulAttention, OfSmallHeadsHasNoSecondGradients) {
  const at::Tensor values = at::linspace(-1, 1, 2 * 6 * 16).view({1, 2, 6, 16}).requires_grad_();
  const at::Tensor mixed = attention(values, values, values);
  const at::Tensor grad = torch::autograd::grad({mixed.square().sum()}, {values}, {}, std::nullopt,
                                                /*create_graph=*/true)[0];
  EXPECT_THROW(grad.sum().backward(), c10::Error);
}

TEST(MatmulLinear, OfMoreDimensionsIsComputedAgain) {
  Rerun rerun(/*keeps_matmuls=*/true);
  const at::Tensor x = at::ones({2, 3, 4});
  const at::Tensor weight = at::ones({5, 4});
  for (const double value : {1.0, 2.0}) {
    weight.fill_(value);
    const Rerun::Scope scope(rerun);
    EXPECT_TRUE(at::equal(linear(x, weight, at::ones({5})), at::full({2, 3, 5}, 4 * value + 1)));
  }
}

TEST(MatmulLinear, WithoutBiasAndInFloat64UnderAutocastIsLibTorchs) {
  expect_kept([](const Inputs& in) { return linear(in[0], in[1], at::Tensor()); },
              [](const Inputs& in) { return at::linear(in[0], in[1]); },
              {at::linspace(-1, 1, 6 * 5, at::kDouble).view({6, 5}),
               at::linspace(-2, 1, 7 * 5, at::kDouble).view({7, 5})},
              at::kBFloat16);
}

}  // namespace
}  // namespace paceline::nn
