#include "paceline/parallel/squares.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

at::Tensor squared_wave(std::int64_t size, at::ScalarType dtype) {
  return at::linspace(-3, 40, size, at::kDouble).sin_().to(dtype);
}

double exact_squares(const at::Tensor& values) {
  return values.to(at::kDouble).square().sum().item<double>();
}

TEST(Squares, AreSummedOverAnyElements) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const double relative = dtype == at::kDouble ? 1e-14 : 1e-6;
    for (const std::int64_t size : {0, 1, 63, 64, 65, 16'384, 16'385, 100'003}) {
      const at::Tensor values = squared_wave(size, dtype);
      const double sum = exact_squares(values);
      EXPECT_NEAR(sum_of_squares(values, 0, size), sum, relative * sum) << size;
    }
    const at::Tensor values = squared_wave(9000, dtype);
    const double part = exact_squares(values.narrow(0, 17, 8000));
    EXPECT_NEAR(sum_of_squares(values, 17, 8017), part, relative * part);
  }
}

TEST(Squares, StayExactOverManyFloats) {
  const at::Tensor many = at::full({5'000'001}, 0.1, at::kFloat);
  const double value = static_cast<double>(0.1F);
  EXPECT_NEAR(sum_of_squares(many, 0, many.numel()) / (value * value * 5'000'001.0), 1.0, 1e-6);
}

TEST(Squares, HaveTheSameBitsWhereverElementsLieAndOnAnyThreads) {
  const at::Tensor values = squared_wave(200'000, at::kFloat);
  const double sum = sum_of_squares(values, 1000, 151'000);
  const at::Tensor elsewhere = values.narrow(0, 1000, 150'000).clone();
  EXPECT_EQ(sum_of_squares(elsewhere, 0, 150'000), sum);
  const int num_threads = at::get_num_threads();
  at::set_num_threads(num_threads == 1 ? 2 : 1);
  EXPECT_EQ(sum_of_squares(values, 1000, 151'000), sum);
  at::set_num_threads(num_threads);
}

TEST(Squares, OfTwoRowsAreThoseOfEach) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t size : {0, 1, 31, 33, 4608, 16'384, 40'001}) {
      const at::Tensor one = squared_wave(size, dtype), other = squared_wave(size, dtype) * 2 + 0.1;
      const auto [of_one, of_other] =
          dtype == at::kFloat
              ? squares_of_two(one.const_data_ptr<float>(), other.const_data_ptr<float>(), size)
              : squares_of_two(one.const_data_ptr<double>(), other.const_data_ptr<double>(), size);
      const double relative = dtype == at::kDouble ? 1e-14 : 1e-6;
      EXPECT_NEAR(of_one, exact_squares(one), relative * exact_squares(one)) << size;
      EXPECT_NEAR(of_other, exact_squares(other), relative * exact_squares(other)) << size;
    }
  }
}

TEST(Squares, WalkMemoryAndSeeWhatIsNotFinite) {
  const at::Tensor filters = at::rand({8, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_NEAR(sum_of_squares(filters, 0, filters.numel()), exact_squares(filters), 1e-4);
  filters[2][1][3][3] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(sum_of_squares(filters, 0, filters.numel())));
  filters[0][0][0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum_of_squares(filters, 0, filters.numel())));
  EXPECT_THROW(sum_of_squares(filters.slice(0, 0, 8, 2), 0, 10), base::InternalError);
  EXPECT_THROW(sum_of_squares(filters, 0, filters.numel() + 1), base::InternalError);
}

}  // namespace
}  // namespace paceline::parallel
