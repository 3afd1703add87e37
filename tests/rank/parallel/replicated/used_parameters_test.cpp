#include "paceline/parallel/replicated/used_parameters.h"

#include "paceline/base/error.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/distributed_data_parallel.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/block_net.h"
#include "support/finish_step.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::BlockNet;
using paceline::test::run_ranks;
using paceline::test::wave;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<GroupRule> kDecayAll = optim::weight_decay_rules(0.1, true, {});
const DdpConfig kAllowed{
    .first_bucket_mib = 0.0005, .bucket_mib = 0.001, .allow_unused_parameters = true};
const DdpConfig kStatic{.first_bucket_mib = 0.0005, .bucket_mib = 0.001, .static_graph = true};

/// What a loss leaves out.
struct Without {
  bool stem = false;
  bool head = false;
  bool last_block = false;  // whose gradients come first
};

at::Tensor loss_of(const BlockNet& net, const Without& without, double phase = 3) {
  const at::Tensor stem = without.stem ? net.stem.detach() : net.stem;
  const at::Tensor head = without.head ? net.head.detach() : net.head;
  at::Tensor x = at::conv2d(wave({2, 3, 8, 8}, phase), stem, {}, 2).mean({2, 3});
  for (std::size_t i = 0; i < net.blocks.size() - (without.last_block ? 1 : 0); ++i) {
    x = net.blocks[i]->forward(x);
  }
  return at::linear(x, head).square().sum();
}

void run_step(Strategy& strategy, const at::Tensor& loss, comm::Communicator& ranks) {
  strategy.begin_microbatch(true, true);
  strategy.backward(loss, 1.0);
  test::finish_step(strategy, &ranks);
}

TEST(UsedParameters, WhatNoRankUsesIsNotUpdatedAndWhatOneUsesIs) {
  for (const DdpConfig& config : {kAllowed, kStatic}) {
    for (const bool is_adamw : {false, true}) {
      run_ranks(2, [&](comm::Communicator& communicator) {
        BlockNet net;
        const auto strategy = make_ddp(config, communicator);
        strategy->prepare(net, kDecayAll);
        const auto optimizer =
            is_adamw ? optim::make_optimizer(optim::AdamWConfig{}, strategy->param_groups())
                     : optim::make_optimizer(optim::SgdConfig{.momentum = 0.9},
                                             strategy->param_groups());
        const at::Tensor stem = net.stem.detach().clone();
        at::Tensor head = net.head.detach().clone();
        for (int step = 0; step < 3; ++step) {
          run_step(*strategy, loss_of(net, {.stem = true, .head = communicator.rank() == 1}),
                   communicator);
          strategy->update(*optimizer, 0.1);
          EXPECT_TRUE(net.stem.equal(stem));
          EXPECT_FALSE(net.head.equal(head));
          head = net.head.detach().clone();
        }
        for (const StateShard& shard : strategy->optimizer_state(*optimizer)) {
          if (shard.name.ends_with("/stem")) {
            EXPECT_EQ(shard.data.count_nonzero().item<std::int64_t>(), 0) << shard.name;
          }
        }
      });
    }
  }
}

TEST(UsedParameters, MomentumOfAParameterRestsWhileNoRankUsesIt) {
  run_ranks(2, [&](comm::Communicator& communicator) {
    BlockNet net;
    const auto strategy = make_ddp(kAllowed, communicator);
    strategy->prepare(net, kDecayAll);
    const auto optimizer =
        optim::make_optimizer(optim::SgdConfig{.momentum = 0.9}, strategy->param_groups());
    run_step(*strategy, loss_of(net, {}), communicator);
    strategy->update(*optimizer, 0.1);
    const at::Tensor stem = net.stem.detach().clone();
    run_step(*strategy, loss_of(net, {.stem = true}), communicator);
    strategy->update(*optimizer, 0.1);
    EXPECT_TRUE(net.stem.equal(stem));
    run_step(*strategy, loss_of(net, {}), communicator);
    strategy->update(*optimizer, 0.1);
    EXPECT_FALSE(net.stem.equal(stem));
  });
}

TEST(UsedParameters, AStaticGraphGivesTheSumsOfOneThatIsNot) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto norms = [&](const DdpConfig& config) {
      BlockNet net;
      const auto strategy = make_ddp(config, communicator);
      strategy->prepare(net, kDecayAll);
      std::vector<double> found;
      for (int step = 0; step < 3; ++step) {
        strategy->begin_microbatch(true, false);
        strategy->backward(loss_of(net, {.head = communicator.rank() == 1}, step), 1.0);
        strategy->begin_microbatch(false, true);
        strategy->backward(loss_of(net, {.head = communicator.rank() == 1}, 9.0 * step), 1.0);
        strategy->finish_gradients();
        found.push_back(grad_norm(*strategy).item<double>());
      }
      return found;
    };
    EXPECT_EQ(norms(kStatic), norms(kAllowed));
  });
}

TEST(UsedParameters, AStaticGraphsSettledBucketsDoNotWait) {
  run_ranks(2, [](comm::Communicator& communicator) {
    BlockNet net;
    const auto strategy = make_ddp(kStatic, communicator);
    strategy->prepare(net, kDecayAll);
    run_step(*strategy, loss_of(net, {.last_block = true}), communicator);
    EXPECT_THAT(strategy->communication_report().late_parameters, testing::Contains("block3.up"));
    run_step(*strategy, loss_of(net, {.last_block = true}), communicator);
    EXPECT_THAT(strategy->communication_report().late_parameters, testing::IsEmpty());
  });
}

TEST(UsedParameters, AStaticGraphThatChangesIsAnErrorOfAllRanks) {
  struct Change {
    Without first;
    Without then;  // on rank 1
    const char* name;
  };
  for (const Change& change : {Change{{}, {.head = true}, "'head' on rank 1;"},
                               Change{{.stem = true}, {}, "'stem' on rank 1;"},
                               Change{{.head = true}, {}, "'head' on rank 1;"}}) {
    run_ranks(2, [&](comm::Communicator& communicator) {
      BlockNet net;
      const auto strategy = make_ddp(kStatic, communicator);
      strategy->prepare(net, kDecayAll);
      run_step(*strategy, loss_of(net, change.first), communicator);
      const Without& then = communicator.rank() == 1 ? change.then : change.first;
      EXPECT_THAT([&] { run_step(*strategy, loss_of(net, then), communicator); },
                  ThrowsMessage<base::ConfigError>(
                      AllOf(HasSubstr(change.name), HasSubstr("parallel.ddp.static_graph"))));

      BlockNet other;
      DistributedDataParallel ddp(other, communicator, {.buckets = kStatic});
      loss_of(other, change.first).backward();
      ddp.finish_gradients();
      other.zero_grad();
      EXPECT_THAT(
          [&] {
            loss_of(other, then).backward();
            ddp.finish_gradients();
          },
          ThrowsMessage<base::ConfigError>(HasSubstr(change.name)));
    });
  }
}

TEST(UsedParameters, ARankWithoutSamplesShowsNothing) {
  run_ranks(2, [](comm::Communicator& communicator) {
    BlockNet net;
    const auto strategy = make_ddp(kStatic, communicator);
    strategy->prepare(net, kDecayAll);
    strategy->begin_microbatch(true, true);
    if (communicator.rank() == 0) {
      strategy->backward(loss_of(net, {.stem = true}), 1.0);
    } else {
      strategy->backward_nothing();
    }
    strategy->finish_gradients();
    for (int step = 0; step < 2; ++step)
      run_step(*strategy, loss_of(net, {.stem = true}), communicator);
    EXPECT_THAT([&] { run_step(*strategy, loss_of(net, {}), communicator); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'stem' on any rank")));
  });
}

TEST(UsedParameters, UnderAnOwnLoopKeepNoGradientThatNoRankHas) {
  for (const DdpConfig& config : {kAllowed, kStatic}) {
    run_ranks(2, [&](comm::Communicator& communicator) {
      BlockNet net;
      DistributedDataParallel ddp(net, communicator, {.buckets = config});
      for (int step = 0; step < 3; ++step) {
        net.zero_grad();
        const bool uses_head = communicator.rank() == 0;
        loss_of(net, {.stem = true, .head = !uses_head}).backward();
        ddp.finish_gradients();
        EXPECT_FALSE(net.stem.grad().defined());
        ASSERT_TRUE(net.head.grad().defined());
        EXPECT_GT(net.head.grad().norm().item<double>(), 0.0);
        EXPECT_FALSE(ddp.communication_report().buckets.empty());
      }
    });
  }
}

}  // namespace
}  // namespace paceline::parallel
