#include "paceline/parallel/sharded/sharded_strategy.h"

#include "paceline/base/error.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/finish_step.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::block_net_rules;
using paceline::test::BlockNet;
using paceline::test::BlockNetTraining;
using paceline::test::elements_of;
using paceline::test::run_ranks;
using paceline::test::sharded_strategies;
using paceline::test::summed_loss;
using paceline::test::train;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Values = std::map<std::string, at::Tensor>;

/// All state of a run on one rank, by name.
Values expected_state(const BlockNetTraining& training) {
  const auto strategy = make_none({});
  BlockNet net(0, training.net);
  const auto optimizer = train(*strategy, net, 0, 1, training);
  Values values;
  for (const StateShard& shard : strategy->model_state()) values[shard.name] = shard.data.clone();
  for (const StateShard& shard : strategy->optimizer_state(*optimizer))
    values[shard.name] = shard.data.clone();
  return values;
}

void expect_state(std::span<const StateShard> shards, const Values& expected) {
  for (const StateShard& shard : shards) {
    const at::Tensor wanted = elements_of(expected.at(shard.name), shard);
    EXPECT_LE((shard.data.reshape({-1}) - wanted).abs().max().item<double>(), 1e-10) << shard.name;
  }
}

class Sharded : public testing::TestWithParam<std::string> {
 protected:
  void expect_numbers_of_one_rank(const BlockNetTraining& training) {
    const Values expected = expected_state(training);
    for (const int world_size : {1, 2, 4}) {
      SCOPED_TRACE(world_size);
      run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto strategy = sharded_strategies().at(GetParam())(communicator);
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
  for (const auto& [name, make] : sharded_strategies()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Sharded, testing::ValuesIn(strategy_names()), as_name);

/// The model's parameters that have memory now, in bytes.
std::size_t bytes_of_parameters(const BlockNet& net) {
  std::map<const void*, std::size_t> storages;
  for (const at::Tensor& parameter : net.parameters())
    storages[parameter.storage().unsafeGetStorageImpl()] = parameter.storage().nbytes();
  std::size_t sum = 0;
  for (const auto& [storage, bytes] : storages) sum += bytes;
  return sum;
}

TEST(Fsdp, ParametersWithoutMemoryGetItUnitByUnitAndTheirValuesOnce) {
  std::map<std::string, test::MakeStrategy> strategies = test::sharded_strategies();
  strategies["ddp"] = [](comm::Communicator& c) { return make_ddp({}, c); };
  for (const auto& [name, make] : strategies) {
    SCOPED_TRACE(name);
    run_ranks(2, [&, &make = make](comm::Communicator& communicator) {
      BlockNet expected(3);
      BlockNet net(3, {.freezes_first_blocks = true});
      const auto values = nn::named_parameters(expected);
      nn::defer_values(net);
      std::size_t most_bytes = 0;
      const auto strategy = make(communicator);
      std::size_t num_filled = 0;
      strategy->prepare(net, block_net_rules(), [&](const NamedTensor& parameter) {
        most_bytes = std::max(most_bytes, bytes_of_parameters(net));
        const auto is_same = [&](const NamedTensor& other) { return other.name == parameter.name; };
        const at::NoGradGuard no_grad;
        parameter.tensor.copy_(std::ranges::find_if(values, is_same)->tensor);
        ++num_filled;
      });
      EXPECT_EQ(num_filled, communicator.rank() == 0 ? values.size() : 0);
      if (strategy->name() == "fsdp") {
        EXPECT_LT(most_bytes, bytes_of_parameters(expected) / 2);
      }
      Values held;
      for (const NamedTensor& named : values) held[named.name] = named.tensor.detach();
      held["seen"] = expected.seen;
      expect_state(strategy->model_state(), held);
    });
  }
}

TEST(Fsdp, HoldsItsShareOfTheStateAndNoMore) {
  constexpr int kRanks = 4;
  run_ranks(kRanks, [](comm::Communicator& communicator) {
    ShardedStrategy strategy({.name = "fsdp"}, {}, communicator);
    BlockNet net;
    strategy.prepare(net, block_net_rules());
    for (const auto& unit : strategy.layout().units()) {
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
    strategy->prepare(net, block_net_rules());
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
    for (const auto& [name, make] : sharded_strategies()) {
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
    strategy->prepare(net, block_net_rules());
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
    strategy->prepare(net, block_net_rules());
    strategy->begin_microbatch(true, true);
    const at::Tensor x = test::wave({4, 6}, 1);
    strategy->backward(net.blocks[0]->forward(x).sum(), 1.0);
    EXPECT_THAT([&] { test::finish_step(*strategy, &communicator); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'block1.up'")));
  });
}

TEST(Sharded, RanksThatUseDifferentParametersCommunicateInTheSameOrder) {
  run_ranks(2, [](comm::Communicator& communicator) {
    for (const auto& make : {make_zero2, make_fsdp}) {
      const auto strategy = make({.allow_unused_parameters = true}, communicator);
      BlockNet net;
      strategy->prepare(net, block_net_rules());
      // As if rank 1's samples took another way through two of the blocks.
      for (const int block : {1, 2}) {
        net.blocks[static_cast<std::size_t>(block)]->bias.requires_grad_(communicator.rank() == 0);
      }
      strategy->begin_microbatch(true, true);
      strategy->backward(summed_loss(net, 0, 4), 1.0);
      strategy->finish_gradients();
      EXPECT_GT(grad_norm(*strategy).item<double>(), 0.0);
    }
  });
}

TEST(Fsdp, ChangedWeightsAreNoticedWhereAutogradSavedThem) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto strategy = make_fsdp({}, communicator);
    BlockNet net;
    strategy->prepare(net, block_net_rules());
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
        [&] { make_fsdp({.units = {"block7"}}, communicator)->prepare(net, block_net_rules()); },
        ThrowsMessage<base::ConfigError>(HasSubstr("'block7'")));
  });
}

}  // namespace
}  // namespace paceline::parallel
