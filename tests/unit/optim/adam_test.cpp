#include "paceline/optim/adam.h"

#include "paceline/tensor/aten.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(AdamW, EqualsPlainOperations) {
  const AdamWConfig config{.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-6};
  const at::Tensor fused = at::linspace(-1, 1, 1003, at::kDouble);
  const at::Tensor grad = at::linspace(2, -3, 1003, at::kDouble);
  at::Tensor plain = fused.clone();
  at::Tensor mean = at::zeros_like(plain);
  at::Tensor square = at::zeros_like(plain);
  const auto optimizer = make_optimizer(
      config, {{.name = "g", .weight_decay = 0.1, .lr_scale = 0.5, .slots = {{fused, grad}}}});
  for (int step = 1; step <= 4; ++step) {
    optimizer->step(0.3);
    const double lr = 0.15;
    plain *= 1 - lr * 0.1;
    mean = config.beta1 * mean + (1 - config.beta1) * grad;
    square = config.beta2 * square + (1 - config.beta2) * grad * grad;
    const at::Tensor corrected = square / (1 - std::pow(config.beta2, step));
    plain -= lr * (mean / (1 - std::pow(config.beta1, step))) / (corrected.sqrt() + config.eps);
  }
  EXPECT_TRUE(at::allclose(fused, plain, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(optimizer->state()[0].tensors[0], mean, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(optimizer->state()[1].tensors[0], square, 1e-12, 1e-12));
}

TEST(AdamW, GoesOnFromSavedState) {
  const at::Tensor grad = at::linspace(2, -3, 50);
  const auto make = [&](const at::Tensor& param) {
    return make_optimizer(AdamWConfig{},
                          {{.name = "g", .weight_decay = 0.1, .slots = {{param, grad}}}});
  };
  const at::Tensor straight = at::ones({50});
  const auto whole = make(straight);
  for (int step = 0; step < 5; ++step) whole->step(0.1);

  const at::Tensor param = at::ones({50});
  const auto before = make(param);
  for (int step = 0; step < 2; ++step) before->step(0.1);
  const auto after = make(param);
  for (std::size_t i = 0; i < 2; ++i) {
    after->state()[i].tensors[0].copy_(before->state()[i].tensors[0]);
  }
  after->set_num_steps(before->num_steps());
  for (int step = 0; step < 3; ++step) after->step(0.1);
  EXPECT_TRUE(at::equal(straight, param));
}

TEST(AdamW, BumpsTheVersionOfEveryView) {
  const at::Tensor param = at::ones({50});
  const at::Tensor view = param.narrow(0, 10, 5);
  const auto optimizer =
      make_optimizer(AdamWConfig{}, {{.name = "g", .slots = {{param, at::ones({50})}}}});
  const auto before = view._version();
  optimizer->step(0.1);
  EXPECT_GT(view._version(), before);
}

}  // namespace
}  // namespace paceline::optim
