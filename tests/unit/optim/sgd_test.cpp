#include "paceline/optim/sgd.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

struct Flat {
  at::Tensor param = at::linspace(-1, 1, 1003, at::kDouble);
  at::Tensor grad = at::linspace(2, -3, 1003, at::kDouble);
  std::vector<ParamGroup> groups(double weight_decay, double lr_scale = 1) const {
    return {{.name = "g",
             .weight_decay = weight_decay,
             .lr_scale = lr_scale,
             .slots = {{param, grad}}}};
  }
};

/// The same update written with plain operations.
void plain_step(const SgdConfig& config, double decay, double lr, bool is_first, Flat& flat,
                at::Tensor& buffer) {
  at::Tensor grad = flat.grad + decay * flat.param;
  buffer = is_first ? grad.clone() : config.momentum * buffer + (1 - config.dampening) * grad;
  flat.param -= lr * (config.nesterov ? grad + config.momentum * buffer : buffer);
}

TEST(Sgd, EqualsPlainOperations) {
  for (const SgdConfig& config : {SgdConfig{.momentum = 0.9, .dampening = 0.2},
                                  SgdConfig{.momentum = 0.8, .nesterov = true}}) {
    Flat fused;
    Flat plain;
    at::Tensor buffer;
    const auto optimizer = make_optimizer(config, fused.groups(0.1, 0.5));
    for (int step = 0; step < 4; ++step) {
      optimizer->step(0.3);
      plain_step(config, 0.1, 0.15, step == 0, plain, buffer);
    }
    EXPECT_TRUE(at::allclose(fused.param, plain.param, 1e-13, 1e-13));
    EXPECT_TRUE(at::allclose(optimizer->state()[0].tensors[0], buffer, 1e-13, 1e-13));
  }
}

TEST(Sgd, GoesOnFromSavedState) {
  Flat straight;
  const auto whole = make_optimizer(SgdConfig{}, straight.groups(0.1));
  for (int step = 0; step < 5; ++step) whole->step(0.1);

  Flat stopped;
  const auto before = make_optimizer(SgdConfig{}, stopped.groups(0.1));
  for (int step = 0; step < 2; ++step) before->step(0.1);
  Flat resumed;
  resumed.param.copy_(stopped.param);
  const auto after = make_optimizer(SgdConfig{}, resumed.groups(0.1));
  after->state()[0].tensors[0].copy_(before->state()[0].tensors[0]);
  after->set_num_steps(before->num_steps());
  for (int step = 0; step < 3; ++step) after->step(0.1);
  EXPECT_TRUE(at::equal(straight.param, resumed.param));
  EXPECT_EQ(after->num_steps(), 5);
}

TEST(Sgd, BumpsTheVersionOfEveryView) {
  Flat flat;
  const at::Tensor view = flat.param.narrow(0, 10, 5);
  const auto optimizer = make_optimizer(SgdConfig{}, flat.groups(0));
  const auto before = view._version();
  optimizer->step(0.1);
  EXPECT_GT(view._version(), before);
}

TEST(Sgd, KeepsNoStateWithoutMomentum) {
  Flat flat;
  EXPECT_TRUE(make_optimizer(SgdConfig{.momentum = 0}, flat.groups(0))->state().empty());
}

TEST(Sgd, RefusesNesterovWithoutMomentumOrWithDampening) {
  EXPECT_THROW(make_optimizer(SgdConfig{.momentum = 0, .nesterov = true}, {}), base::ConfigError);
  EXPECT_THROW(make_optimizer(SgdConfig{.dampening = 0.1, .nesterov = true}, {}),
               base::ConfigError);
}

}  // namespace
}  // namespace paceline::optim
