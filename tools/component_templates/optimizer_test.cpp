#include "paceline/optim/new_part.h"

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(NewPart, StepsAgainstTheGradient) {
  const at::Tensor param = at::full({5}, 1.0, at::kDouble);
  const at::Tensor grad = at::full({5}, 2.0, at::kDouble);
  const auto optimizer = make_optimizer(
      NewPartConfig{.momentum = 0.5}, {{.name = "all", .slots = {{.param = param, .grad = grad}}}});
  optimizer->step(0.1);
  optimizer->step(0.1);
  EXPECT_TRUE(param.allclose(at::full({5}, 1.0 - 0.1 * 2.0 - 0.1 * 3.0, at::kDouble)));
  optimizer->step(0.1, at::ones({}));
  EXPECT_TRUE(param.allclose(at::full({5}, 0.5, at::kDouble))) << "a skipped step changes nothing";
}

}  // namespace
}  // namespace paceline::optim
