#include "paceline/tensor/element_update.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/shared_code.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

PACELINE_CODE_AND_TEXT(
    kTurnCode, template <typename T>
               void turn_element(T input, T x, T y, T cosine, T sine, T shift, T& new_x, T& new_y) {
                 new_x = cosine * x - sine * y + input;
                 new_y = sine * x + cosine * y + shift;
               })
constexpr auto kTurn =
    element_update<&turn_element<float>, &turn_element<double>>("turn_element", kTurnCode);
static_assert(kTurn.num_values == 2 && kTurn.num_scalars == 3);

void expect_turned(at::ScalarType dtype, std::int64_t size) {
  const at::Tensor input = at::linspace(-1, 1, size, dtype);
  const at::Tensor x = at::linspace(2, 5, size, dtype);
  const at::Tensor y = at::linspace(-7, 1, size, dtype);
  const at::Tensor new_x = 0.5 * x - 0.25 * y + input;
  const at::Tensor new_y = 0.25 * x + 0.5 * y + 3;
  update_elements(kTurn, input, std::array{x, y}, std::array{0.5, 0.25, 3.0}, {});
  EXPECT_TRUE(at::allclose(x, new_x, 1e-6, 1e-6));
  EXPECT_TRUE(at::allclose(y, new_y, 1e-6, 1e-6));
}

TEST(UpdateElements, GivesEveryElementItsNewValuesInPlace) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t size : {0, 1, 7, 1003, 200'001}) expect_turned(dtype, size);
  }
}

TEST(UpdateElements, TakesTensorsInAnyOrderThatHasNoGaps) {
  const at::Tensor x = at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor before = x.clone();
  const at::Tensor y = at::zeros_like(x);
  update_elements(kTurn, at::ones_like(x), std::array{x, y}, std::array{2.0, 0.0, 1.0}, {});
  EXPECT_TRUE(at::equal(x, before * 2 + 1));
  EXPECT_TRUE(at::equal(y, at::ones_like(y)));
}

TEST(UpdateElements, LeavesAllWhereItIsSkipped) {
  const at::Tensor x = at::ones({5}), y = at::ones({5});
  const std::array values{x, y};
  update_elements(kTurn, at::ones({5}), values, std::array{2.0, 0.0, 1.0}, at::ones({}));
  EXPECT_TRUE(at::equal(x, at::ones({5})));
  update_elements(kTurn, at::ones({5}), values, std::array{2.0, 0.0, 1.0}, at::zeros({}));
  EXPECT_TRUE(at::equal(x, at::full({5}, 3.0)));
}

TEST(UpdateElements, RefusesWhatDoesNotLieAlike) {
  const auto update = [](const at::Tensor& input, const at::Tensor& x) {
    update_elements(kTurn, input, std::array{x, at::ones({4, 6})}, std::array{1.0, 0.0, 0.0}, {});
  };
  const at::Tensor good = at::ones({4, 6});
  EXPECT_NO_THROW(update(good, good));
  for (const at::Tensor& bad : {at::ones({6, 4}), at::ones({6, 4}).t(), good.to(at::kDouble)}) {
    EXPECT_THAT([&] { update(good, bad); },
                ThrowsMessage<base::InternalError>(HasSubstr("turn_element: tensors differ")));
  }
  EXPECT_THAT(
      [&] {
        update_elements(kTurn, good, std::array{good}, std::array{1.0, 0.0, 0.0}, {});
      },
      ThrowsMessage<base::InternalError>(HasSubstr("1 values and 3 scalars, not 2 and 3")));
}

TEST(UpdateElements, TheTextIsTheCode) {
  EXPECT_THAT(std::string(kTurn.text),
              HasSubstr("template <typename T> void turn_element(T input"));
}

}  // namespace
}  // namespace paceline::tensor
