// Climbing by the gradient of all ranks, N ranks equal one under every strategy, through the
// trainer.

#include "paceline/algorithms/sam/sam.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <atomic>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using paceline::test::BlockNet;
using paceline::test::elements_of;
using paceline::test::run_ranks;
using paceline::test::Share;

/// Weights after five steps in three microbatches each.
std::vector<tensor::StateShard> train(train::TrainState& state, BlockNet& net,
                                      comm::Communicator& ranks) {
  const std::atomic<int> no_signal{0};
  const train::RunContext run{ranks, {}, 1, {}, no_signal};
  Sam sam({.rho = 0.1, .ascent = Ascent::kGlobal});
  state.strategy->prepare(net, test::block_net_rules());
  state.optimizer = optim::make_optimizer(optim::AdamWConfig{}, state.strategy->param_groups());
  const Share share(ranks.rank(), ranks.world_size());
  for (int step = 0; step < 5; ++step) {
    test::ragged_step(*state.strategy, net, share, 3);
    EXPECT_EQ(sam.after_extra_pass(state).item<float>(), 0);
    test::ragged_step(*state.strategy, net, share, 3);
    sam.apply(train::Event::kGradientsReady, state, run);
    state.strategy->update(*state.optimizer, 0.01);
  }
  return state.strategy->model_state();
}

TEST(SamOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  const auto alone = comm::make_fake_communicator(0, 1);
  BlockNet net;
  train::TrainState state;
  state.strategy = parallel::make_none({});
  std::map<std::string, at::Tensor> wanted;
  for (const tensor::StateShard& shard : train(state, net, *alone))
    wanted[shard.name] = shard.data.clone();
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        BlockNet own(ranks.rank());
        train::TrainState of_rank;
        of_rank.strategy = make(ranks);
        for (const tensor::StateShard& shard : train(of_rank, own, ranks)) {
          const at::Tensor difference =
              shard.data.reshape({-1}) - elements_of(wanted.at(shard.name), shard);
          EXPECT_LE(difference.abs().max().item<double>(), 1e-10) << shard.name;
        }
      });
    }
  }
}

}  // namespace
}  // namespace paceline::algorithms
