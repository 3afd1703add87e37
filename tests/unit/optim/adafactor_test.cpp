#include "paceline/optim/adafactor.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

at::Tensor ramp(std::vector<std::int64_t> sizes, double phase) {
  const std::int64_t numel = c10::multiply_integers(sizes);
  return at::sin(at::arange(numel, at::kDouble) * 0.7 + phase).view(sizes);
}

std::vector<ParamGroup> group_of(const at::Tensor& param, const at::Tensor& grad,
                                 std::vector<ParamPiece> pieces = {}) {
  return {{.name = "matrices",
           .weight_decay = 0.1,
           .slots = {{param, grad, std::move(pieces)}},
           .is_matrix = true}};
}

TEST(Adafactor, KeepsOneNumberForEachRowAndColumn) {
  const auto optimizer =
      make_optimizer(AdafactorConfig{}, group_of(ramp({3, 4, 5}, 0), ramp({3, 4, 5}, 1)));
  const std::vector<ParameterState> states = optimizer->parameter_state();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].tensors.front().sizes(), (at::IntArrayRef{3, 4, 1}));
  EXPECT_EQ(states[1].tensors.front().sizes(), (at::IntArrayRef{3, 1, 5}));
  for (const SlotState& state : optimizer->state()) EXPECT_FALSE(state.tensors.front().defined());
}

TEST(Adafactor, APartOfAMatrixMovesAsTheWhole) {
  const at::Tensor whole = ramp({4, 3}, 0), grad = ramp({4, 3}, 1);
  make_optimizer(AdafactorConfig{}, group_of(whole, grad))->step(0.1);

  // Elements [2, 9) are here; what two ranks would sum is what one finds that has all.
  const at::Tensor all = ramp({4, 3}, 0);
  const at::Tensor part = all.flatten().narrow(0, 2, 7).clone();
  const at::Tensor part_grad = grad.flatten().narrow(0, 2, 7).clone();
  int sums = 0;
  const auto add_others = [&](const at::Tensor& values) {
    if (++sums == 1) {
      const at::Tensor squares = grad.square();
      values.copy_(at::cat({all.square().sum().view({1}), squares.sum(1), squares.sum(0)}));
    } else {
      const at::Tensor rows = grad.square().mean(1, /*keepdim=*/true);
      const at::Tensor columns = grad.square().mean(0, /*keepdim=*/true);
      const at::Tensor direction = grad * (rows * columns / rows.mean()).rsqrt();
      values.copy_(direction.square().sum().view({1}));
    }
  };
  const ParameterShards shards{.parameters = {{{4, 3}, at::kDouble, 0}}, .sum = add_others};
  make_optimizer(AdafactorConfig{}, group_of(part, part_grad, {{0, 0, 7, 2}}), shards)->step(0.1);
  EXPECT_EQ(sums, 2) << "of squares, and of directions";
  EXPECT_TRUE(at::allclose(part, whole.flatten().narrow(0, 2, 7), 1e-14, 1e-14));
}

TEST(Adafactor, RowsOfConvolutionsAreTheirKernelsWhateverTheMemoryOrder) {
  const auto trained = [](at::MemoryFormat format) {
    const at::Tensor param = ramp({4, 3, 2, 2}, 0).contiguous(format);
    const at::Tensor grad = ramp({4, 3, 2, 2}, 1).contiguous(format);
    const auto optimizer = make_optimizer(AdafactorConfig{}, group_of(param, grad));
    for (int step = 0; step < 3; ++step) optimizer->step(0.1);
    return param;
  };
  EXPECT_TRUE(at::allclose(trained(at::MemoryFormat::ChannelsLast),
                           trained(at::MemoryFormat::Contiguous), 1e-14, 1e-14));
}

TEST(Adafactor, AStepToBeSkippedChangesNothing) {
  const at::Tensor param = ramp({4, 3}, 0), vector = ramp({3}, 0);
  const at::Tensor grad = at::full({4, 3}, INFINITY, at::kDouble);
  std::vector<ParamGroup> groups = group_of(param, grad);
  groups.push_back({.name = "rest", .slots = {{vector, ramp({3}, 1)}}});
  const auto optimizer = make_optimizer(AdafactorConfig{}, groups);
  optimizer->step(0.1, at::ones({}));
  EXPECT_TRUE(at::equal(param, ramp({4, 3}, 0)));
  EXPECT_TRUE(at::equal(vector, ramp({3}, 0)));
  for (const ParameterState& state : optimizer->parameter_state())
    EXPECT_EQ(state.tensors.front().abs().max().item<double>(), 0) << state.name;
  EXPECT_EQ(optimizer->state().front().tensors[1].abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace paceline::optim
