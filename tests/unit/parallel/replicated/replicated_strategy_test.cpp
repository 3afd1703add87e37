#include "paceline/parallel/replicated/replicated_strategy.h"

#include "paceline/base/error.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/tensor/torch.h"
#include "support/finish_step.h"
#include "support/small_net.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::SmallNet;
using paceline::test::summed_loss;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<GroupRule> kRules = optim::weight_decay_rules(0.1, false, {});

void run_backward(ReplicatedStrategy& strategy, const SmallNet& net, double weight = 1.0) {
  strategy.begin_microbatch(true, true);
  strategy.backward(summed_loss(net, 0, 8), weight);
  strategy.finish_gradients();
}

std::map<std::string, at::Tensor> by_name(const std::vector<StateShard>& shards) {
  std::map<std::string, at::Tensor> tensors;
  for (const StateShard& shard : shards) tensors.emplace(shard.name, shard.data);
  return tensors;
}

/// The gradients in the arena, cut by parameter as the optimizer's state is.
std::map<std::string, at::Tensor> gradients(ReplicatedStrategy& strategy) {
  std::map<std::string, at::Tensor> found;
  const auto groups = strategy.param_groups();
  std::vector<std::size_t> next(groups.size(), 0);
  for (const tensor::FlatRange& range : strategy.layout().ranges) {
    const auto group = static_cast<std::size_t>(range.group);
    const at::Tensor flat = groups[group].slots[next[group]++].grad;
    for (std::int64_t i = range.first_slot; i < range.end_slot; ++i) {
      const tensor::FlatSlot& slot = strategy.layout().slots[static_cast<std::size_t>(i)];
      found.emplace(slot.spec.name,
                    flat.as_strided(slot.spec.sizes, slot.spec.strides,
                                    flat.storage_offset() + slot.offset - range.begin));
    }
  }
  return found;
}

TEST(ReplicatedStrategy, GradientsAreAutogradsOwn) {
  SmallNet plain;
  (summed_loss(plain, 0, 8) * 0.5).backward();
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  run_backward(*strategy, net, 0.5);
  const auto found = gradients(*strategy);
  ASSERT_EQ(found.size(), 6U);
  for (const auto& item : plain.named_parameters()) {
    EXPECT_TRUE(at::allclose(found.at(item.key()), item.value().grad(), 1e-12, 1e-14))
        << item.key();
    EXPECT_EQ(found.at(item.key()).strides(), item.value().strides());
  }
  for (const auto& item : net.named_parameters()) EXPECT_FALSE(item.value().grad().defined());
}

TEST(ReplicatedStrategy, LaterMicrobatchesAddAndANewStepOverwrites) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  run_backward(*strategy, net);
  const at::Tensor whole = gradients(*strategy).at("conv_weight").clone();
  strategy->begin_microbatch(true, false);
  strategy->backward(summed_loss(net, 0, 5), 1.0);
  strategy->begin_microbatch(false, false);
  strategy->backward(summed_loss(net, 5, 3), 1.0);
  strategy->begin_microbatch(false, true);
  strategy->backward_nothing();
  strategy->finish_gradients();
  EXPECT_TRUE(at::allclose(gradients(*strategy).at("conv_weight"), whole, 1e-12, 1e-13));
}

TEST(ReplicatedStrategy, BackwardOfNothingGivesZeros) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  run_backward(*strategy, net);
  strategy->begin_microbatch(true, true);
  strategy->backward_nothing();
  strategy->finish_gradients();
  EXPECT_EQ(grad_norm(*strategy).item<double>(), 0.0);
}

TEST(ReplicatedStrategy, GroupsFollowTheRules) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  const auto groups = strategy->param_groups();
  ASSERT_EQ(groups.size(), 2U);
  std::int64_t no_decay = 0;
  for (const auto& slot : groups[0].slots)
    no_decay += slot.param.count_nonzero().item<std::int64_t>();
  EXPECT_EQ(groups[0].weight_decay, 0.0);
  EXPECT_EQ(groups[1].weight_decay, 0.1);
  EXPECT_EQ(no_decay, 6 + 16 + 5);
}

TEST(ReplicatedStrategy, TheOptimizerMovesTheModuleAndBumpsItsVersions) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  const auto optimizer = optim::make_optimizer(optim::SgdConfig{}, strategy->param_groups());
  run_backward(*strategy, net);
  const at::Tensor before = net.conv_weight.detach().clone();
  const at::Tensor grad = gradients(*strategy).at("conv_weight").clone();
  const auto version = net.conv_weight._version();
  const at::Tensor stale = summed_loss(net, 0, 8);
  optimizer->step(0.01);
  EXPECT_TRUE(at::allclose(net.conv_weight, before - 0.01 * (grad + 0.1 * before), 1e-12, 1e-14));
  EXPECT_GT(net.conv_weight._version(), version);
  strategy->begin_microbatch(/*is_first=*/true, /*is_last=*/true);
  EXPECT_THROW(stale.backward(), c10::Error);
}

TEST(ReplicatedStrategy, AnUnusedParameterIsNamedOrZero) {
  SmallNet net;
  const auto strict = make_none({});
  strict->prepare(net, kRules);
  strict->begin_microbatch(true, true);
  strict->backward(net.head_weight.sum() + net.conv_bias.sum(), 1.0);
  EXPECT_THAT([&] { test::finish_step(*strict); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("'conv_weight', 'head_bias', 'hidden_bias', 'hidden_weight'")));

  SmallNet other;
  const auto lenient = make_none({.allow_unused_parameters = true});
  lenient->prepare(other, kRules);
  run_backward(*lenient, other);
  lenient->begin_microbatch(true, true);
  lenient->backward(other.head_weight.sum(), 1.0);
  lenient->finish_gradients();
  EXPECT_EQ(gradients(*lenient).at("conv_weight").count_nonzero().item<std::int64_t>(), 0);
  EXPECT_EQ(gradients(*lenient).at("head_weight").sum().item<double>(), 80.0);
}

TEST(ReplicatedStrategy, FrozenParametersStayOutside) {
  SmallNet net;
  net.conv_weight.requires_grad_(false);
  const void* address = net.conv_weight.data_ptr();
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  run_backward(*strategy, net);
  EXPECT_EQ(net.conv_weight.data_ptr(), address);
  EXPECT_EQ(gradients(*strategy).count("conv_weight"), 0U);
  EXPECT_EQ(by_name(strategy->model_state()).count("conv_weight"), 1U);
}

TEST(ReplicatedStrategy, StateIsNamedAndCutByParameter) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  const auto optimizer = optim::make_optimizer(optim::SgdConfig{}, strategy->param_groups());
  run_backward(*strategy, net);
  optimizer->step(0.1);
  std::vector<std::string> names;
  for (const StateShard& shard : strategy->model_state()) names.push_back(shard.name);
  EXPECT_THAT(names, testing::ElementsAre("conv_weight", "conv_bias", "hidden_weight",
                                          "hidden_bias", "head_weight", "head_bias", "seen"));
  const auto state = by_name(strategy->optimizer_state(*optimizer));
  ASSERT_EQ(state.size(), 6U);
  // After one step the momentum is the decayed gradient.
  EXPECT_TRUE(at::equal(state.at("optimizer.momentum_buffer/head_bias"),
                        gradients(*strategy).at("head_bias")));
  EXPECT_EQ(state.at("optimizer.momentum_buffer/conv_weight").strides(), net.conv_weight.strides());
}

TEST(ReplicatedStrategy, LoadingThroughTheShardsGoesOnWithTheSameBits) {
  const auto train = [](SmallNet& net, ReplicatedStrategy& strategy, optim::Optimizer& optimizer) {
    run_backward(strategy, net, 0.01);
    optimizer.step(0.1);
  };
  SmallNet first;
  const auto one = make_none({});
  one->prepare(first, kRules);
  const auto optimizer_one = optim::make_optimizer(optim::SgdConfig{}, one->param_groups());
  for (int i = 0; i < 3; ++i) train(first, *one, *optimizer_one);

  SmallNet second(7);
  const auto two = make_none({});
  two->prepare(second, kRules);
  const auto optimizer_two = optim::make_optimizer(optim::SgdConfig{}, two->param_groups());
  for (const auto& [name, data] : by_name(two->model_state())) {
    data.copy_(by_name(one->model_state()).at(name));
  }
  for (const auto& [name, data] : by_name(two->optimizer_state(*optimizer_two))) {
    data.copy_(by_name(one->optimizer_state(*optimizer_one)).at(name));
  }
  optimizer_two->set_num_steps(optimizer_one->num_steps());
  two->state_was_loaded();
  for (int i = 0; i < 2; ++i) train(first, *one, *optimizer_one);
  for (int i = 0; i < 2; ++i) train(second, *two, *optimizer_two);
  for (const auto& item : first.named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), second.named_parameters()[item.key()])) << item.key();
  }
}

TEST(ReplicatedStrategy, AMovedParameterIsNamed) {
  SmallNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, kRules);
  net.hidden_weight.set_data(net.hidden_weight.detach().clone());
  EXPECT_THAT([&] { strategy->begin_microbatch(true, true); },
              ThrowsMessage<base::InternalError>(HasSubstr("'hidden_weight'")));
}

}  // namespace
}  // namespace paceline::parallel
