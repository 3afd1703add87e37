#include "paceline/optim/elementwise.h"

#include "paceline/base/error.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/radam.h"
#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

/// More than one thread's share, with a rest that no vector holds.
constexpr std::int64_t kManyElements = 100'003;

TEST(Elementwise, AFlatRangeEqualsItsPartsToTheBit) {
  const at::Tensor whole = at::linspace(-1, 1, kManyElements);
  const at::Tensor parts = whole.clone();
  const at::Tensor grad = at::linspace(2, -3, kManyElements).sin_();
  const auto flat = make_optimizer(
      RAdamConfig{}, {{.name = "all", .weight_decay = 0.1, .slots = {{whole, grad}}}});
  std::vector<ParamSlot> slots;
  for (const auto& [begin, size] : {std::pair{0, 7}, {7, 65'000}, {65'007, 34'996}})
    slots.push_back({parts.narrow(0, begin, size), grad.narrow(0, begin, size)});
  const auto by_parts =
      make_optimizer(RAdamConfig{}, {{.name = "all", .weight_decay = 0.1, .slots = slots}});
  for (int step = 0; step < 9; ++step) {  // past the step from which it rectifies
    flat->step(0.01);
    by_parts->step(0.01);
  }
  EXPECT_TRUE(at::equal(whole, parts));
}

TEST(Elementwise, GoesOnFromSavedState) {
  const at::Tensor grad = at::linspace(2, -3, 50);
  const auto make = [&](const at::Tensor& param) {
    return make_optimizer(RAdamConfig{},
                          {{.name = "g", .weight_decay = 0.1, .slots = {{param, grad}}}});
  };
  const at::Tensor straight = at::ones({50});
  const auto whole = make(straight);
  for (int step = 0; step < 9; ++step) whole->step(0.1);

  const at::Tensor param = at::ones({50});
  const auto before = make(param);
  for (int step = 0; step < 4; ++step) before->step(0.1);
  const auto after = make(param);
  for (std::size_t i = 0; i < 2; ++i)
    after->state()[i].tensors[0].copy_(before->state()[i].tensors[0]);
  after->set_num_steps(before->num_steps());
  for (int step = 0; step < 5; ++step) after->step(0.1);
  EXPECT_TRUE(at::equal(straight, param));
}

TEST(Elementwise, ASkippedStepChangesNothing) {
  const at::Tensor param = at::ones({50});
  const auto optimizer =
      make_optimizer(LionConfig{}, {{.name = "g", .slots = {{param, at::ones({50})}}}});
  optimizer->step(0.1, at::ones({}));
  EXPECT_TRUE(at::equal(param, at::ones({50})));
  EXPECT_EQ(optimizer->state()[0].tensors[0].sum().item<float>(), 0);
  optimizer->step(0.1, at::zeros({}));
  EXPECT_TRUE(at::allclose(param, at::full({50}, 0.9)));
}

TEST(Elementwise, BumpsTheVersionOfEveryView) {
  const at::Tensor param = at::ones({50});
  const at::Tensor view = param.narrow(0, 10, 5);
  const auto optimizer =
      make_optimizer(LionConfig{}, {{.name = "g", .slots = {{param, at::ones({50})}}}});
  const auto before = view._version();
  optimizer->step(0.1);
  EXPECT_GT(view._version(), before);
}

TEST(Elementwise, GroupsHaveTheirOwnLearningRateAndDecay) {
  const at::Tensor fast = at::ones({3}), slow = at::ones({3});
  const at::Tensor grad = at::ones({3});
  const auto optimizer = make_optimizer(
      LionConfig{},
      {{.name = "fast", .slots = {{fast, grad}}},
       {.name = "slow", .weight_decay = 1, .lr_scale = 0.1, .slots = {{slow, grad}}}});
  optimizer->step(0.5);
  EXPECT_TRUE(at::allclose(fast, at::full({3}, 0.5)));
  EXPECT_TRUE(at::allclose(slow, at::full({3}, 0.95 - 0.05)));
}

}  // namespace
}  // namespace paceline::optim
