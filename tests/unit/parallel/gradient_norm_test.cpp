#include "paceline/parallel/gradient_norm.h"

#include "paceline/base/error.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

TEST(GradientNorm, IsTheNormOverAllTensorsAndDtypes) {
  const at::Tensor wide = at::linspace(-1, 1, 10001, at::kDouble);
  const at::Tensor narrow = at::linspace(-2, 3, 77, at::kFloat);
  const double expected = std::sqrt(wide.square().sum().item<double>() +
                                    narrow.to(at::kDouble).square().sum().item<double>());
  EXPECT_NEAR(flat_norm(std::vector{wide, narrow}).item<double>(), expected, 1e-5);
  EXPECT_NEAR(flat_norm(std::vector{wide}).item<double>(), wide.norm().item<double>(), 1e-12);
  EXPECT_THROW(flat_norm({}), base::InternalError);
}

TEST(GradientNorm, StaysExactOverManyFloats) {
  const at::Tensor many = at::full({5'000'001}, 0.1, at::kFloat);
  const double value = static_cast<double>(0.1F);
  const double norm = flat_norm(std::vector{many}).item<double>();
  EXPECT_NEAR(norm / (value * std::sqrt(5'000'001.0)), 1.0, 1e-6);
}

TEST(GradientNorm, ClipsAsTorchDoes) {
  const at::Tensor grad = at::full({4}, 3.0, at::kDouble);  // norm 6
  scale_to_norm(std::vector{grad}, flat_norm(std::vector{grad}), 1.5);
  EXPECT_DOUBLE_EQ(grad[0].item<double>(), 3.0 * (1.5 / (6.0 + 1e-6)));
  const at::Tensor small = at::full({4}, 0.1, at::kDouble);
  scale_to_norm(std::vector{small}, flat_norm(std::vector{small}), 1.5);
  EXPECT_DOUBLE_EQ(small[0].item<double>(), 0.1);
}

TEST(GradientNorm, LeavesGradientsWhoseNormIsNotFinite) {
  const at::Tensor grad = at::zeros({4});
  grad[1] = std::numeric_limits<double>::infinity();
  const at::Tensor norm = flat_norm(std::vector{grad});
  EXPECT_TRUE(std::isinf(norm.item<double>()));
  scale_to_norm(std::vector{grad}, norm, 1.0);
  EXPECT_EQ(grad[0].item<double>(), 0.0);
}

}  // namespace
}  // namespace paceline::parallel
