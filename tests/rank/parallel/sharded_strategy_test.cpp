#include "paceline/parallel/sharded_strategy.h"

#include "paceline/base/error.h"
#include "paceline/optim/adamw.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated_strategy.h"
#include "support/block_net.h"
#include "support/ragged_step.h"
#include "support/run_ranks.h"

#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::BlockNet;
using paceline::test::BlockNetOptions;
using paceline::test::ragged_step;
using paceline::test::run_ranks;
using paceline::test::Share;
using paceline::test::summed_loss;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kShardedSteps = 30;

using Values = std::map<std::string, at::Tensor>;
using MakeStrategy = std::function<std::unique_ptr<Strategy>(comm::Communicator&)>;

struct Training {
  BlockNetOptions net = {};
  int num_microbatches = 1;
  double weight_of_clipping = 0.5;
};

const std::vector<GroupRule> kShardedRules = optim::weight_decay_rules(0.01, false, {});

std::unique_ptr<optim::Optimizer> train(Strategy& strategy, BlockNet& net, int rank, int world_size,
                                        const Training& training) {
  strategy.prepare(net, kShardedRules);
  auto optimizer = optim::make_optimizer(optim::AdamWConfig{}, strategy.param_groups());
  const Share share(rank, world_size);
  for (int step = 0; step < kShardedSteps; ++step) {
    ragged_step(strategy, net, share, training.num_microbatches);
    strategy.clip_grad_norm(training.weight_of_clipping);
    optimizer->step(0.01);
  }
  return optimizer;
}

/// All state of a run on one rank, by name.
Values expected_state(const Training& training) {
  const auto strategy = make_none({});
  BlockNet net(0, training.net);
  const auto optimizer = train(*strategy, net, 0, 1, training);
  Values values;
  for (const StateShard& shard : strategy->model_state()) values[shard.name] = shard.data.clone();
  for (const StateShard& shard : strategy->optimizer_state(*optimizer))
    values[shard.name] = shard.data.clone();
  return values;
}

/// What a shard should hold of the whole tensor.
at::Tensor cut(const at::Tensor& whole, const StateShard& shard) {
  const at::Tensor ordered = shard.order.empty() ? whole : whole.permute(shard.order);
  return ordered.reshape({-1}).narrow(0, shard.begin, shard.end - shard.begin);
}

void expect_state(std::span<const StateShard> shards, const Values& expected) {
  for (const StateShard& shard : shards) {
    const at::Tensor wanted = cut(expected.at(shard.name), shard);
    const at::Tensor held = shard.data.dim() == 1 ? shard.data : shard.data.reshape({-1});
    EXPECT_LE((held - wanted).abs().max().item<double>(), 1e-10) << shard.name;
  }
}

const std::map<std::string, MakeStrategy> kStrategies{
    {"zero1", [](comm::Communicator& c) { return make_zero1({}, c); }},
    {"zero2", [](comm::Communicator& c) { return make_zero2({}, c); }},
    {"fsdp", [](comm::Communicator& c) { return make_fsdp({}, c); }},
    {"fsdp that keeps until backward ends",
     [](comm::Communicator& c) { return make_fsdp({.reshard_after_forward = false}, c); }},
    {"fsdp that reduces once, without prefetch",
     [](comm::Communicator& c) {
       return make_fsdp({.prefetch = 0, .reduce_every_microbatch = false}, c);
     }},
    {"fsdp of two blocks at a time, far ahead",
     [](comm::Communicator& c) { return make_fsdp({.min_unit_params = 200, .prefetch = 3}, c); }},
    {"fsdp of one named block",
     [](comm::Communicator& c) { return make_fsdp({.units = {"block2"}}, c); }},
    {"hsdp",
     [](comm::Communicator& c) {
       return make_hsdp({}, c.world_size() == 4 ? 2 : c.world_size(), c);
     }},
    {"hsdp of one rank each", [](comm::Communicator& c) { return make_hsdp({}, 1, c); }},
};

class Sharded : public testing::TestWithParam<std::string> {
 protected:
  void expect_numbers_of_one_rank(const Training& training) {
    const Values expected = expected_state(training);
    for (const int world_size : {1, 2, 4}) {
      SCOPED_TRACE(world_size);
      run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto strategy = kStrategies.at(GetParam())(communicator);
        // Every rank starts elsewhere; rank 0's values count.
        BlockNet net(static_cast<double>(communicator.rank()), training.net);
        const auto optimizer = train(*strategy, net, communicator.rank(), world_size, training);
        expect_state(strategy->model_state(), expected);
        expect_state(strategy->optimizer_state(*optimizer), expected);
      });
    }
  }
};

TEST_P(Sharded, GivesTheNumbersOfOneRank) { expect_numbers_of_one_rank({}); }

TEST_P(Sharded, GivesThemInMicrobatches) { expect_numbers_of_one_rank({.num_microbatches = 3}); }

TEST_P(Sharded, GivesThemWithTiedWeights) {
  expect_numbers_of_one_rank({.net = {.ties_blocks = true}, .num_microbatches = 2});
}

TEST_P(Sharded, GivesThemWithFrozenBlocks) {
  expect_numbers_of_one_rank({.net = {.freezes_first_blocks = true}, .num_microbatches = 2});
}

std::string as_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kStrategies) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Sharded, testing::ValuesIn(strategy_names()), as_name);

TEST(Fsdp, HoldsItsShareOfTheStateAndNoMore) {
  constexpr int kRanks = 4;
  run_ranks(kRanks, [](comm::Communicator& communicator) {
    ShardedStrategy strategy({.name = "fsdp"}, {}, communicator);
    BlockNet net;
    strategy.prepare(net, kShardedRules);
    for (const auto& unit : strategy.units()) {
      for (const auto& flat : unit->flats()) {
        EXPECT_EQ(flat->parameters().front().tensor.storage().nbytes(), 0U);  // freed
        std::int64_t whole = 0;
        for (const tensor::FlatSlot& slot : flat->layout().slots) whole += slot.numel;
        EXPECT_GE(flat->shard().numel() * kRanks, whole);
        EXPECT_LE(flat->shard().numel() * kRanks, whole + 32 * kRanks + 8 * 3);  // padding
        EXPECT_EQ(flat->grad_shard().numel(), flat->shard().numel());
      }
    }
  });
}

TEST(Fsdp, ShardsOfAllRanksMakeEveryTensorWholeOnce) {
  run_ranks(4, [](comm::Communicator& communicator) {
    const auto strategy = make_hsdp({}, 2, communicator);
    BlockNet net;
    strategy->prepare(net, kShardedRules);
    std::map<std::string, std::int64_t> written;
    for (const StateShard& shard : strategy->model_state()) {
      if (shard.is_writer) written[shard.name] += shard.end - shard.begin;
    }
    for (const NamedTensor& named : nn::state_dict(net)) {
      const at::Tensor sum = at::full({1}, written[named.name], at::kLong);
      communicator.all_reduce(sum, comm::ReduceOp::kSum)->wait();
      EXPECT_EQ(sum.item<std::int64_t>(), named.tensor.numel()) << named.name;
    }
  });
}

TEST(Fsdp, EvaluatesWithTheNewestWeightsAlsoOnARankWithoutSamples) {
  run_ranks(2, [](comm::Communicator& communicator) {
    BlockNet alone;
    const auto none = make_none({});
    train(*none, alone, 0, 1, {});
    for (const auto& [name, make] : kStrategies) {
      SCOPED_TRACE(name);
      const auto strategy = make(communicator);
      BlockNet net;
      train(*strategy, net, communicator.rank(), 2, {});
      const at::NoGradGuard no_grad;
      strategy->begin_evaluation();
      if (communicator.rank() == 0) {
        EXPECT_NEAR(summed_loss(net, 0, 8).item<double>(), summed_loss(alone, 0, 8).item<double>(),
                    1e-9);
      } else {
        strategy->forward_nothing();
      }
      strategy->end_evaluation();
    }
  });
}

TEST(Fsdp, GathersMatricesInTheTypeAskedForAndKeepsNormsAndBiases) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto strategy = make_fsdp({.param_dtype = ShardDtype::kBFloat16}, communicator);
    BlockNet net;
    strategy->prepare(net, kShardedRules);
    EXPECT_EQ(net.blocks[0]->up.scalar_type(), at::kBFloat16);
    EXPECT_EQ(net.blocks[0]->bias.scalar_type(), at::kDouble);
    for (const StateShard& shard : strategy->model_state()) {
      EXPECT_EQ(shard.data.scalar_type(), at::kDouble) << shard.name;
    }
  });
}

TEST(Fsdp, NamesParametersWithoutGradient) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto strategy = make_fsdp({}, communicator);
    BlockNet net;
    strategy->prepare(net, kShardedRules);
    strategy->begin_microbatch(true, true);
    const at::Tensor x = test::wave({4, 6}, 1);
    strategy->backward(net.blocks[0]->forward(x).sum(), 1.0);
    EXPECT_THAT([&] { strategy->finish_gradients(); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'block1.up'")));
  });
}

TEST(Fsdp, ChangedWeightsAreNoticedWhereAutogradSavedThem) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto strategy = make_fsdp({}, communicator);
    BlockNet net;
    strategy->prepare(net, kShardedRules);
    strategy->begin_microbatch(true, true);
    const at::Tensor old_loss = summed_loss(net, 0, 4);
    strategy->backward(summed_loss(net, 0, 4), 1.0);
    strategy->finish_gradients();
    strategy->begin_microbatch(true, true);
    EXPECT_ANY_THROW(strategy->backward(old_loss, 1.0));
  });
}

TEST(Fsdp, RefusesGroupsThatDoNotDivideTheWorld) {
  run_ranks(4, [](comm::Communicator& communicator) {
    EXPECT_THAT([&] { make_hsdp({}, 3, communicator); },
                ThrowsMessage<base::ConfigError>(HasSubstr("shard_group_size is 3")));
  });
}

TEST(Fsdp, RefusesBlocksThatAreNotThere) {
  run_ranks(1, [](comm::Communicator& communicator) {
    BlockNet net;
    EXPECT_THAT(
        [&] { make_fsdp({.units = {"block7"}}, communicator)->prepare(net, kShardedRules); },
        ThrowsMessage<base::ConfigError>(HasSubstr("'block7'")));
  });
}

}  // namespace
}  // namespace paceline::parallel
