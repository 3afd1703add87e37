#include "paceline/parallel/missing_gradients.h"

#include "paceline/base/error.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/distributed_data_parallel.h"
#include "support/block_net.h"
#include "support/finish_step.h"
#include "support/run_ranks.h"
#include "support/strategies.h"

#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::BlockNet;
using paceline::test::finish_step;
using paceline::test::run_ranks;
using paceline::test::wave;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<GroupRule> kOneGroup = optim::weight_decay_rules(0.0, true, {});

/// The loss of a net that leaves out the head on ranks 1 and 2, and the stem on rank 2.
at::Tensor partial_loss(const BlockNet& net, int rank) {
  const at::Tensor stem = rank == 2 ? net.stem.detach() : net.stem;
  const at::Tensor head = rank == 1 || rank == 2 ? net.head.detach() : net.head;
  at::Tensor x = at::conv2d(wave({2, 3, 8, 8}, 3), stem, {}, 2).mean({2, 3});
  for (const auto& block : net.blocks) x = block->forward(x);
  return at::linear(x, head).square().sum();
}

const auto kNamesParametersAndRanks = ThrowsMessage<base::ConfigError>(AllOf(
    HasSubstr("'head' on ranks 1, 2, 'stem' on rank 2;"), HasSubstr("allow_unused_parameters")));

/// Calls `check` on every rank of four with a net that a strategy has taken, for each strategy.
void with_every_strategy(
    const std::function<void(Strategy&, const BlockNet&, comm::Communicator&)>& check) {
  std::map<std::string, test::MakeStrategy> strategies = test::main_strategies();
  const DdpConfig buckets{.first_bucket_mib = 0.0005, .bucket_mib = 0.001};
  strategies["ddp"] = [=](comm::Communicator& ranks) { return make_ddp(buckets, ranks); };
  for (const auto& [name, make] : strategies) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& ranks) {
      BlockNet net;
      const auto strategy = make(ranks);
      strategy->prepare(net, kOneGroup);
      check(*strategy, net, ranks);
    });
  }
}

TEST(MissingGradients, OfSomeRanksAreTheSameErrorOnAll) {
  with_every_strategy([](auto& strategy, const auto& net, auto& ranks) {
    strategy.begin_microbatch(true, true);
    strategy.backward(partial_loss(net, ranks.rank()), 1.0);
    EXPECT_THAT([&] { finish_step(strategy, &ranks); }, kNamesParametersAndRanks)
        << strategy.name();
  });
}

TEST(MissingGradients, InsideABlockAreTheSameErrorOnAll) {
  with_every_strategy([](auto& strategy, const auto& net, auto& ranks) {
    net.blocks[2]->bias.requires_grad_(ranks.rank() != 1);
    strategy.begin_microbatch(true, true);
    strategy.backward(partial_loss(net, /*rank=*/0), 1.0);
    EXPECT_THAT([&] { finish_step(strategy, &ranks); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'block2.bias' on rank 1")))
        << strategy.name();
  });
}

TEST(MissingGradients, OfOneMicrobatchAreNone) {
  with_every_strategy([](auto& strategy, const auto& net, auto& ranks) {
    strategy.begin_microbatch(true, false);
    strategy.backward(partial_loss(net, /*rank=*/0), 1.0);
    strategy.begin_microbatch(false, true);
    strategy.backward(partial_loss(net, ranks.rank()), 1.0);
    EXPECT_NO_THROW(finish_step(strategy, &ranks)) << strategy.name();
  });
}

TEST(MissingGradients, AreNotGradientsThatAreNotANumber) {
  with_every_strategy([](auto& strategy, const auto& net, auto& ranks) {
    strategy.begin_microbatch(true, true);
    const double factor = std::numeric_limits<double>::quiet_NaN();
    strategy.backward(partial_loss(net, /*rank=*/0), factor);
    EXPECT_NO_THROW(finish_step(strategy, &ranks)) << strategy.name();
    EXPECT_TRUE(grad_norm(strategy).isnan().is_nonzero()) << strategy.name();
  });
}

// The stem's gradient is not a number and lies in some of the shards, that of the head is finite.
TEST(MissingGradients, AreNotGradientsThatAreNotANumberInSomeShards) {
  with_every_strategy([](auto& strategy, const auto& net, auto& ranks) {
    strategy.begin_microbatch(true, true);
    at::Tensor loss = partial_loss(net, /*rank=*/0);
    if (ranks.rank() == 1) loss = loss + (net.stem * 0).sqrt().sum();
    strategy.backward(loss, 1.0);
    EXPECT_NO_THROW(finish_step(strategy, &ranks)) << strategy.name();
    EXPECT_TRUE(unscale_gradients(strategy, 1.0).is_nonzero()) << strategy.name();
    EXPECT_TRUE(clip_grad_norm(strategy, 1.0).isnan().is_nonzero()) << strategy.name();
  });
}

TEST(MissingGradients, AreTheSameErrorUnderAnOwnLoopToo) {
  run_ranks(4, [&](comm::Communicator& communicator) {
    BlockNet net;
    DistributedDataParallel ddp(net, communicator);
    partial_loss(net, communicator.rank()).backward();
    EXPECT_THAT([&] { ddp.finish_gradients(); }, kNamesParametersAndRanks);
  });
}

TEST(MissingGradients, OfAllRanksAreNamedWithoutThem) {
  const std::vector<std::string> names{"a", "b"};
  run_ranks(2, [&](comm::Communicator& communicator) {
    EXPECT_THAT(
        [&] {
          refuse_missing_gradients({names, {"ddp"}}, &communicator);
        },
        ThrowsMessage<base::ConfigError>(HasSubstr("'a', 'b' on any rank; ")));
  });
  EXPECT_THAT(
      [&] {
        refuse_missing_gradients({names, {"none"}}, nullptr);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("reached 'a', 'b'; ")));
}

}  // namespace
}  // namespace paceline::parallel
