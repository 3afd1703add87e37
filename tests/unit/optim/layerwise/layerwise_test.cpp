#include "paceline/optim/layerwise/layerwise.h"

#include "paceline/optim/layerwise/lamb.h"
#include "paceline/optim/layerwise/lars.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

at::Tensor ramp(std::int64_t size, double phase) {
  return at::sin(at::arange(size, at::kDouble) * 0.7 + phase);
}

/// Two parameters of 5 and 3 elements after `steps` steps, cut into slots in some way.
template <class Config>
at::Tensor trained(const Config& config, std::vector<ParamGroup> groups,
                   const ParameterShards& shards, const std::vector<at::Tensor>& grads,
                   const at::Tensor& result) {
  const auto optimizer = make_optimizer(config, std::move(groups), shards);
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < grads.size(); ++i) grads[i].mul_(-0.8).add_(0.1);
    optimizer->step(0.1);
  }
  return result;
}

std::vector<WholeParameter> two_parameters() {
  return {{{5}, at::kDouble, 0}, {{3}, at::kDouble, 0}};
}

/// Each parameter a slot.
template <class Config>
at::Tensor trained_apart(const Config& config) {
  const at::Tensor params = ramp(8, 0), grads = ramp(8, 3);
  const auto slot = [&](std::int64_t begin, std::int64_t end) {
    return ParamSlot{params.narrow(0, begin, end - begin), grads.narrow(0, begin, end - begin)};
  };
  return trained(config, {{.name = "g", .weight_decay = 0.1, .slots = {slot(0, 5), slot(5, 8)}}},
                 {}, {grads}, params);
}

/// Both in one slot, with padding between them.
template <class Config>
at::Tensor trained_together(const Config& config) {
  const at::Tensor params = at::zeros(10, at::kDouble), grads = at::zeros(10, at::kDouble);
  const at::Tensor first = params.narrow(0, 0, 5), second = params.narrow(0, 7, 3);
  first.copy_(ramp(8, 0).narrow(0, 0, 5));
  second.copy_(ramp(8, 0).narrow(0, 5, 3));
  grads.narrow(0, 0, 5).copy_(ramp(8, 3).narrow(0, 0, 5));
  grads.narrow(0, 7, 3).copy_(ramp(8, 3).narrow(0, 5, 3));
  const ParameterShards shards{.parameters = two_parameters()};
  trained(config,
          {{.name = "g", .weight_decay = 0.1, .slots = {{params, grads, {{0, 0, 5}, {1, 7, 10}}}}}},
          shards, {grads.narrow(0, 0, 5), grads.narrow(0, 7, 3)}, params);
  return at::cat({first, second});
}

TEST(Layerwise, WhatSharesASlotHasARatioOfItsOwn) {
  EXPECT_TRUE(at::equal(trained_together(LambConfig{}), trained_apart(LambConfig{})));
  EXPECT_TRUE(at::equal(trained_together(LarsConfig{.nesterov = true}),
                        trained_apart(LarsConfig{.nesterov = true})));
}

TEST(Layerwise, NormsAreThoseOfAllRanks) {
  // This rank has elements [0, 3) of the parameter; the other's squares are added.
  const at::Tensor param = ramp(3, 0), grad = ramp(3, 3);
  const ParameterShards shards{.parameters = {{{5}, at::kDouble, 0}},
                               .sum = [](const at::Tensor& values) {
                                 EXPECT_EQ(values.numel(), 2);
                                 values.add_(1e6);
                               }};
  const at::Tensor before = param.clone();
  make_optimizer(LarsConfig{.momentum = 0, .trust_coeff = 0.5, .eps = 1e-30},
                 {{.name = "g", .weight_decay = 1, .slots = {{param, grad, {{0, 0, 3}}}}}}, shards)
      ->step(0.1);
  const double params = std::sqrt(1e6 + before.dot(before).item<double>());
  const double grads = std::sqrt(1e6 + grad.dot(grad).item<double>());
  const at::Tensor expected = before - 0.1 * (0.5 * params / (grads + params)) * (grad + before);
  EXPECT_TRUE(at::allclose(param, expected, 1e-14, 1e-14));
}

TEST(Layerwise, ARankWithoutSlotsTakesPartInTheSums) {
  int sums = 0;
  const ParameterShards shards{.parameters = two_parameters(),
                               .sum = [&](const at::Tensor& values) {
                                 EXPECT_EQ(values.size(1), 2);
                                 ++sums;
                               }};
  const auto optimizer = make_optimizer(LambConfig{}, {{.name = "g"}}, shards);
  optimizer->step(0.1);
  EXPECT_EQ(sums, 2);  // of all gradients, and of each parameter
  EXPECT_EQ(optimizer->num_steps(), 1);
}

TEST(Layerwise, AStepToBeSkippedChangesNothing) {
  const at::Tensor param = at::ones({4}), grad = at::full({4}, INFINITY);
  const auto optimizer =
      make_optimizer(LambConfig{}, {{.name = "g", .weight_decay = 0.1, .slots = {{param, grad}}}});
  optimizer->step(0.1, at::ones({}));
  EXPECT_TRUE(at::equal(param, at::ones({4})));
  for (const SlotState& state : optimizer->state()) {
    for (const at::Tensor& tensor : state.tensors) EXPECT_EQ(tensor.abs().max().item<double>(), 0);
  }
  grad.fill_(1);
  optimizer->step(0.1, at::zeros({}));
  EXPECT_LT(param.max().item<double>(), 1);
  EXPECT_TRUE(param.isfinite().all().item<bool>());
}

TEST(Layerwise, AParameterOfZerosMoves) {
  const at::Tensor param = at::zeros({4}), grad = at::ones({4});
  make_optimizer(LambConfig{}, {{.name = "g", .weight_decay = 0.1, .slots = {{param, grad}}}})
      ->step(0.1);
  EXPECT_LT(param.max().item<double>(), 0);
}

}  // namespace
}  // namespace paceline::optim
