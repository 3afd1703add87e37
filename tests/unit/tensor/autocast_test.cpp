#include "paceline/tensor/autocast.h"

#include "paceline/tensor/aten.h"

#include <stdexcept>

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

/// What a matrix product of float32 computes in.
at::ScalarType product_type() {
  const at::Tensor matrix = at::ones({2, 2});
  return at::mm(matrix, matrix).scalar_type();
}

TEST(AutocastGuard, ActsInItsScopeAndRestoresWhatWasBefore) {
  const at::ScalarType before = at::autocast::get_autocast_dtype(at::kCPU);
  EXPECT_EQ(product_type(), at::kFloat);
  {
    const AutocastGuard outer(at::kCPU, at::kBFloat16);
    EXPECT_EQ(product_type(), at::kBFloat16);
    {
      const AutocastGuard inner(at::kCPU, at::kHalf);
      EXPECT_EQ(product_type(), at::kHalf);
    }
    EXPECT_EQ(product_type(), at::kBFloat16);
    {
      const AutocastGuard nothing(at::kCPU, std::nullopt);
      EXPECT_EQ(product_type(), at::kBFloat16);
    }
  }
  EXPECT_EQ(product_type(), at::kFloat);
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), before);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCUDA));
}

TEST(AutocastGuard, RestoresAfterAnException) {
  EXPECT_THROW(
      {
        const AutocastGuard guard(at::kCPU, at::kHalf);
        throw std::runtime_error("in the scope");
      },
      std::runtime_error);
  EXPECT_EQ(product_type(), at::kFloat);
  EXPECT_EQ(at::autocast::increment_nesting(), 1);
  EXPECT_EQ(at::autocast::decrement_nesting(), 0);
}

TEST(AutocastGuard, KeepsCastWeightsUntilTheOutermostEnds) {
  const at::Tensor weight = at::ones({1, 1}).requires_grad_();
  const auto value = [&weight] { return at::mm(at::ones({1, 1}), weight).item<double>(); };
  const auto set = [&weight](double to) { weight.detach().fill_(to); };
  {
    const AutocastGuard outer(at::kCPU, at::kBFloat16);
    EXPECT_EQ(value(), 1.0);
    set(2.0);
    { const AutocastGuard inner(at::kCPU, at::kBFloat16); }
    EXPECT_EQ(value(), 1.0) << "the cast of before";
  }
  const AutocastGuard next(at::kCPU, at::kBFloat16);
  EXPECT_EQ(value(), 2.0);
}

TEST(AutocastSettings, TellWhatAMatrixProductGets) {
  const auto cast_of = [](at::ScalarType given) {
    return AutocastSettings::current(at::kCPU).cast_of(given);
  };
  EXPECT_EQ(cast_of(at::kFloat), at::kFloat);
  const AutocastGuard guard(at::kCPU, at::kBFloat16);
  EXPECT_EQ(cast_of(at::kFloat), at::kBFloat16);
  EXPECT_EQ(cast_of(at::kHalf), at::kBFloat16);
  EXPECT_EQ(cast_of(at::kDouble), at::kDouble);
  EXPECT_EQ(cast_of(at::kLong), at::kLong);
}

}  // namespace
}  // namespace paceline::tensor
