#include "paceline/nn/pixels/depthwise_gradient.h"

#include "paceline/tensor/aten.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor depthwise_wave(const std::vector<std::int64_t>& sizes, double step) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble).mul_(step).sin_().view(sizes);
}

/// LibTorch's in float64.
std::pair<at::Tensor, at::Tensor> libtorchs(const at::Tensor& grad, const at::Tensor& input,
                                            const DepthwiseKernel& kernel = {}) {
  const std::int64_t channels = input.size(3);
  const at::Tensor weight = at::zeros({channels, 1, kernel.size, kernel.size}, at::kDouble);
  const std::int64_t padding = kernel.size / 2;
  const std::int64_t bias_size[] = {channels};
  const auto grads =
      at::convolution_backward(grad.to(at::kDouble).permute({0, 3, 1, 2}).contiguous(),
                               input.to(at::kDouble).permute({0, 3, 1, 2}).contiguous(), weight,
                               bias_size, {kernel.stride, kernel.stride}, {padding, padding},
                               {1, 1}, false, {0, 0}, channels, {false, true, true});
  return {std::get<1>(grads), std::get<2>(grads)};
}

/// Images narrower than the kernel, channels that fill no vector, more samples than groups.
const std::vector<std::vector<std::int64_t>> kDepthwiseShapes{
    {1, 1, 1, 1},  {2, 7, 7, 16},   {3, 2, 5, 13}, {1, 9, 4, 40},
    {33, 3, 3, 5}, {2, 56, 57, 17}, {1, 4, 64, 8}, {17, 8, 1, 33}};

TEST(DepthwiseGradients, EqualLibTorchs) {
  for (const DepthwiseKernel& kernel :
       {DepthwiseKernel{7, 1}, {7, 2}, {5, 1}, {5, 2}, {3, 1}, {3, 2}}) {
    for (std::vector<std::int64_t> sizes : kDepthwiseShapes) {
      SCOPED_TRACE(testing::PrintToString(sizes) + " kernel " + std::to_string(kernel.size) +
                   " stride " + std::to_string(kernel.stride));
      const at::Tensor input = depthwise_wave(sizes, 1.3);
      sizes[1] = kernel.output_length(sizes[1]);
      sizes[2] = kernel.output_length(sizes[2]);
      const at::Tensor grad = depthwise_wave(sizes, 0.7);
      const auto [weight, bias] = libtorchs(grad, input, kernel);
      for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
        const double tolerance = type == at::kDouble ? 1e-12 : 1e-5;
        const auto got = depthwise_gradients(grad.to(type), input.to(type), kernel);
        EXPECT_EQ(got.first.scalar_type(), type);
        EXPECT_EQ(got.first.sizes(), weight.sizes());
        EXPECT_LE((got.first.to(at::kDouble) - weight).abs().max().item<double>(),
                  tolerance * (1.0 + weight.abs().max().item<double>()));
        EXPECT_LE((got.second.to(at::kDouble) - bias).abs().max().item<double>(),
                  tolerance * (1.0 + bias.abs().max().item<double>()));
      }
    }
  }
}

TEST(DepthwiseGradients, OfReducedTypesAreSummedInFloat32) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor grad = depthwise_wave({2, 9, 9, 20}, 0.7).to(type);
    const at::Tensor input = depthwise_wave({2, 9, 9, 20}, 1.3).to(type);
    const auto got = depthwise_gradients(grad, input);
    EXPECT_EQ(got.first.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(got.first.to(at::kDouble), libtorchs(grad, input).first, 1e-5, 1e-5));
  }
}

TEST(DepthwiseGradients, DoNotDependOnTheNumberOfThreads) {
  const at::Tensor grad = depthwise_wave({5, 20, 20, 40}, 0.7).to(at::kFloat);
  const at::Tensor input = depthwise_wave({5, 20, 20, 40}, 1.3).to(at::kFloat);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto alone = depthwise_gradients(grad, input);
  at::set_num_threads(2);
  const auto together = depthwise_gradients(grad, input);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(alone.first, together.first));
  EXPECT_TRUE(at::equal(alone.second, together.second));
}

TEST(DepthwiseGradients, OfNotContiguousPixels) {
  const at::Tensor grad = depthwise_wave({2, 6, 8, 8}, 0.7).to(at::kFloat).permute({0, 2, 3, 1});
  const at::Tensor input = depthwise_wave({2, 6, 8, 8}, 1.3).to(at::kFloat).permute({0, 2, 3, 1});
  EXPECT_TRUE(at::allclose(depthwise_gradients(grad, input).first.to(at::kDouble),
                           libtorchs(grad, input).first, 1e-5, 1e-5));
}

TEST(DepthwiseGradients, NotANumberStaysInItsChannel) {
  at::Tensor grad = depthwise_wave({1, 8, 8, 20}, 0.7).to(at::kFloat);
  grad.index_put_({at::tensor(0), at::tensor(4), at::tensor(4), at::tensor(18)},
                  at::tensor(std::numeric_limits<float>::quiet_NaN()));
  const auto got = depthwise_gradients(grad, depthwise_wave({1, 8, 8, 20}, 1.3).to(at::kFloat));
  EXPECT_TRUE(got.first.select(0, 18).isnan().any().item<bool>());
  EXPECT_EQ(got.first.isnan().flatten(1).any(1).sum().item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace paceline::nn
