#include "paceline/nn/factors/factors.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/storage.h"

#include <array>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// Of full rank.
at::Tensor chirp(at::IntArrayRef sizes) {
  const at::Tensor i = at::arange(c10::multiply_integers(sizes), at::kDouble);
  return (i * 0.7 + i * i * 0.013).sin().view(sizes);
}

at::Tensor product(const Factors& factors) {
  return factors.second.flatten(1).matmul(factors.first.flatten(1));
}

TEST(Factors, FirstOnesAreKnownByTheirNames) {
  EXPECT_TRUE(is_of_first_factor("fc.to_latent"));
  EXPECT_TRUE(is_of_first_factor("layer1.0.conv1.to_latent.weight"));
  EXPECT_FALSE(is_of_first_factor("fc.weight"));
  EXPECT_FALSE(is_of_first_factor("fc.to_latents.weight"));
  EXPECT_FALSE(is_of_first_factor("into_latent.weight"));
  EXPECT_FALSE(is_of_first_factor(""));
}

TEST(Factors, OfAWeightOfThatRankMakeItAgain) {
  const at::Tensor weight = chirp({6, 2}).matmul(chirp({2, 5}) + 1);
  const Factors factors = nearest_factors(weight, 2);
  EXPECT_EQ(factors.first.sizes(), (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(factors.second.sizes(), (std::vector<std::int64_t>{6, 2}));
  EXPECT_TRUE(at::allclose(product(factors), weight, 1e-12, 1e-12));
  EXPECT_FALSE(at::allclose(product(nearest_factors(weight, 1)), weight, 1e-3, 1e-3));
}

TEST(Factors, OfAConvolutionAreConvolutions) {
  const at::Tensor weight = chirp({6, 3, 3, 3}).to(at::kFloat);
  const Factors factors = nearest_factors(weight, 4);
  EXPECT_EQ(factors.first.sizes(), (std::vector<std::int64_t>{4, 3, 3, 3}));
  EXPECT_EQ(factors.second.sizes(), (std::vector<std::int64_t>{6, 4, 1, 1}));
  EXPECT_EQ(factors.first.scalar_type(), at::kDouble);
  const at::Tensor rest = weight.to(at::kDouble).flatten(1) - product(factors);
  EXPECT_LT((product(factors) * rest).sum().abs().item<double>(), 1e-10) << "is a projection";
  const at::Tensor last_first = weight.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::equal(product(nearest_factors(last_first, 4)), product(factors)));
  EXPECT_THROW(nearest_factors(weight, 7), base::InternalError);
}

TEST(Factors, LieAsTheWeightDoes) {
  const at::Tensor weight =
      at::empty({4, 3, 3, 3}, at::kDouble).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor beside = parameter_beside(weight, std::array<std::int64_t, 4>{2, 3, 3, 3});
  EXPECT_EQ(beside.scalar_type(), at::kDouble);
  EXPECT_TRUE(beside.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(beside.requires_grad());
  EXPECT_FALSE(tensor::has_memory(beside));
  const at::Tensor trained = at::empty({2, 3}).requires_grad_();
  EXPECT_TRUE(parameter_beside(trained, std::array<std::int64_t, 1>{2}).requires_grad());
}

}  // namespace
}  // namespace paceline::nn
