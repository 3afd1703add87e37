#include "paceline/optim/host_pass.h"

#include "paceline/base/error.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/muon.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::vector<ParamGroup> groups)>;

template <class Config>
MakeOptimizer made_by(const Config& config) {
  return [config](std::vector<ParamGroup> groups) {
    return make_optimizer(config, std::move(groups));
  };
}

/// Of every rule that rounds in an order of its own.
std::vector<MakeOptimizer> host_optimizers() {
  return {made_by(SgdConfig{.momentum = 0}),
          made_by(SgdConfig{}),
          made_by(SgdConfig{.nesterov = true}),
          made_by(SgdConfig{.dampening = 0.1}),
          made_by(AdamConfig{}),
          made_by(AdamConfig{.beta1 = 0.4}),
          made_by(AdamWConfig{}),
          made_by(LionConfig{})};
}

/// Two groups of two slots, of sizes that fill vectors and threads and some that do not.
struct PassedNet {
  explicit PassedNet(at::ScalarType dtype, const MakeOptimizer& make) {
    double phase = 0;
    for (const std::int64_t size : {100'003, 7, 64, 70'001}) {
      params.push_back(at::linspace(-3, 5 + phase, size, dtype).sin_());
      grads.push_back(at::zeros({size}, dtype));
      averages.push_back(params.back().clone());
      phase += 1;
    }
    optimizer = make({{.name = "decay",
                       .weight_decay = 0.05,
                       .slots = {{params[0], grads[0]}, {params[1], grads[1]}}},
                      {.name = "no_decay",
                       .lr_scale = 0.3,
                       .slots = {{params[2], grads[2]}, {params[3], grads[3]}}}});
  }

  void draw_gradients(int step) const {
    double phase = step;
    for (const at::Tensor& grad : grads) {
      grad.copy_(at::linspace(1 + step, 40 + phase, grad.numel(), at::kDouble).cos_().mul_(0.7));
      phase += 1;
    }
  }

  std::vector<at::Tensor> params, grads, averages;
  std::unique_ptr<Optimizer> optimizer;
};

void expect_same_bits(const PassedNet& one, const PassedNet& other, const std::string& where) {
  for (std::size_t i = 0; i < one.params.size(); ++i) {
    EXPECT_TRUE(one.params[i].equal(other.params[i])) << where << ", parameter " << i;
    EXPECT_TRUE(one.averages[i].equal(other.averages[i])) << where << ", average " << i;
  }
  const auto states = one.optimizer->state(), others = other.optimizer->state();
  for (std::size_t kind = 0; kind < states.size(); ++kind) {
    for (std::size_t i = 0; i < states[kind].tensors.size(); ++i)
      EXPECT_TRUE(states[kind].tensors[i].equal(others[kind].tensors[i]))
          << where << ", " << states[kind].name << ' ' << i;
  }
}

/// What a step's pass does besides, and the same one after the other.
void step_in_one_pass(PassedNet& net, double factor, double share, const at::Tensor& skip) {
  EXPECT_TRUE(net.optimizer->scale_next_gradients(factor));
  EXPECT_TRUE(net.optimizer->average_next_parameters(net.averages, share));
  net.optimizer->step(0.01, skip);
}

void step_by_step(PassedNet& net, double factor, double share, const at::Tensor& skip) {
  for (const at::Tensor& grad : net.grads) grad.mul_(at::scalar_tensor(factor, at::kDouble));
  net.optimizer->step(0.01, skip);
  for (std::size_t i = 0; i < net.params.size(); ++i) net.averages[i].lerp_(net.params[i], share);
}

at::Tensor skip_in(int step) {
  if (step == 5) return at::ones({});
  return step == 6 ? at::zeros({}) : at::Tensor();
}

TEST(HostPass, HasTheBitsOfPassesOneAfterTheOther) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    int number = 0;
    for (const MakeOptimizer& make : host_optimizers()) {
      PassedNet joined(dtype, make), apart(dtype, make);
      for (int step = 0; step < 12; ++step) {
        joined.draw_gradients(step);
        apart.draw_gradients(step);
        const double share = step % 2 == 0 ? 0.03 : 0.8;
        step_in_one_pass(joined, 0.37, share, skip_in(step));
        step_by_step(apart, 0.37, share, skip_in(step));
      }
      expect_same_bits(joined, apart, std::to_string(number++));
    }
  }
}

TEST(HostPass, LastsForOneStepAndLeavesGradients) {
  for (const MakeOptimizer& make : host_optimizers()) {
    PassedNet net(at::kFloat, make), plain(at::kFloat, make);
    net.draw_gradients(1);
    plain.draw_gradients(1);
    const at::Tensor before = net.grads[0].clone();
    step_in_one_pass(net, 0.5, 0.1, {});
    EXPECT_TRUE(net.grads[0].equal(before));
    for (const at::Tensor& grad : plain.grads) grad.mul_(0.5);
    plain.optimizer->step(0.01);
    const at::Tensor average = net.averages[0].clone();
    net.draw_gradients(2);
    plain.draw_gradients(2);
    net.optimizer->step(0.01);
    plain.optimizer->step(0.01);
    EXPECT_TRUE(net.params[0].equal(plain.params[0])) << "not scaled again";
    EXPECT_TRUE(net.averages[0].equal(average));
  }
}

TEST(HostPass, RefusesWhatItCannotDo) {
  const at::Tensor param = at::ones({8}, at::kBFloat16), average = param.clone();
  HostPass pass({{.name = "g", .slots = {{param, param.clone()}}}});
  EXPECT_FALSE(pass.scale(0.5));
  EXPECT_FALSE(pass.average(std::array{average}, 0.5));
  EXPECT_FALSE(pass.is_asked());
  EXPECT_THROW(pass.average({}, 0.5), base::InternalError);

  const at::Tensor floats = at::ones({8});
  HostPass second({{.name = "g", .slots = {{floats, floats.clone()}}}});
  EXPECT_TRUE(second.average(std::array{floats}, 0.5));
  EXPECT_FALSE(second.average(std::array{floats}, 0.5)) << "a second average";
  const auto muon =
      make_optimizer(MuonConfig{}, {{.name = "g", .slots = {{floats, floats.clone()}}}}, {});
  EXPECT_FALSE(muon->scale_next_gradients(0.5));
  EXPECT_FALSE(muon->average_next_parameters(std::array{floats}, 0.5));
}

}  // namespace
}  // namespace paceline::optim
