// A module that is held in pieces computes what a whole one does, beside steps of another.

#include "paceline/parallel/sharded/sharded_frozen_module.h"

#include "paceline/tensor/storage.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::BlockNet;
using paceline::test::run_ranks;

constexpr double kPhase = 4;  // of the weights that are held

/// Frozen weights without memory, and what gives them their values on the first rank.
struct Frozen {
  BlockNet net{-1, {.dtype = at::kFloat}};
  BlockNet values{kPhase, {.dtype = at::kFloat}};

  std::unique_ptr<FrozenModule> hold_by(Strategy& strategy) {
    nn::defer_values(net);
    for (const NamedTensor& named : nn::named_parameters(net)) named.tensor.requires_grad_(false);
    return strategy.hold_frozen(net, [this](const NamedTensor& named) {
      named.tensor.detach().copy_(values.named_parameters()[named.name]);
    });
  }
};

at::Tensor images() { return test::wave({8, 3, 8, 8}, 3, at::kFloat); }

TEST(ShardedFrozenModule, ComputesTheBitsOfAWholeOne) {
  const BlockNet whole(kPhase, {.dtype = at::kFloat});
  const at::NoGradGuard no_grad;
  const at::Tensor wanted = whole.forward(images());
  for (const auto& [name, make] : test::sharded_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {1, 2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        const at::NoGradGuard no_grad_here;
        const auto strategy = make(ranks);
        BlockNet trained(0);
        strategy->prepare(trained, test::block_net_rules());
        Frozen frozen;
        const auto held = frozen.hold_by(*strategy);
        for (int pass = 0; pass < 3; ++pass) {
          if (pass == 1 && ranks.rank() % 2 == 1) {
            held->forward_nothing();
            continue;
          }
          held->begin_forward();
          EXPECT_TRUE(at::equal(frozen.net.forward(images()), wanted));
          held->end_forward();
        }
      });
    }
  }
}

TEST(ShardedFrozenModule, TakesMemoryForItsPartAndTheUnitsAtWork) {
  run_ranks(2, [&](comm::Communicator& ranks) {
    const auto fsdp = make_fsdp({.prefetch = 0}, ranks);
    BlockNet trained(0);
    fsdp->prepare(trained, test::block_net_rules());
    Frozen frozen;
    const auto held = frozen.hold_by(*fsdp);
    for (const NamedTensor& named : nn::named_parameters(frozen.net))
      EXPECT_FALSE(tensor::has_memory(named.tensor)) << named.name;
    // A block has 12 x 6, 12 and 6 x 12 elements, each in whole units of 16, in all of 64: 192.
    // What lies in no block: 6 x 3 x 3 x 3 = 162 and 30, as 176 + 32 = 208: 256. A buffer of two.
    constexpr std::uint64_t kBlock = 192 * sizeof(float);
    constexpr std::uint64_t kRoot = 256 * sizeof(float);
    EXPECT_EQ(held->bytes(), (4 * kBlock + kRoot) / 2 + kBlock + kRoot + 2 * sizeof(float));

    held->begin_forward();
    EXPECT_TRUE(tensor::has_memory(frozen.net.head));
    const at::NoGradGuard no_grad;
    frozen.net.forward(images());
    EXPECT_FALSE(tensor::has_memory(frozen.net.blocks[3]->up));
    held->end_forward();
    EXPECT_FALSE(tensor::has_memory(frozen.net.head));
  });
}

TEST(ShardedFrozenModule, WaitsAreOfTheStep) {
  run_ranks(2, [&](comm::Communicator& ranks) {
    const auto fsdp = make_fsdp({}, ranks);
    BlockNet trained(0);
    fsdp->prepare(trained, test::block_net_rules());
    Frozen frozen;
    const auto held = frozen.hold_by(*fsdp);
    fsdp->begin_microbatch(/*is_first=*/true, /*is_last=*/true);
    const double before = fsdp->exposed_communication_s();
    held->forward_nothing();
    EXPECT_GT(fsdp->exposed_communication_s(), before);
    fsdp->forward_nothing();
    fsdp->backward_nothing();
    fsdp->finish_gradients();
  });
}

}  // namespace
}  // namespace paceline::parallel
