#include "paceline/base/error.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/ragged_step.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::ragged_step;
using paceline::test::run_ranks;
using paceline::test::Share;
using paceline::test::SmallNet;
using paceline::test::summed_loss;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kSteps = 20;

const std::vector<GroupRule> kDdpRules = optim::weight_decay_rules(0.01, false, {});
const optim::SgdConfig kSgd{.momentum = 0.9, .nesterov = true};
// Small buckets, so that the model has several.
const DdpConfig kDdpBuckets{.first_bucket_mib = 0.0005, .bucket_mib = 0.001};

std::vector<at::Tensor> copies(const torch::nn::Module& module) {
  std::vector<at::Tensor> values;
  for (const auto& item : module.named_parameters())
    values.push_back(item.value().detach().clone());
  return values;
}

std::vector<at::Tensor> train(Strategy& strategy, int rank, int world_size, int num_microbatches) {
  SmallNet net(static_cast<double>(rank));  // every rank starts elsewhere, rank 0's values count
  strategy.prepare(net, kDdpRules);
  const auto optimizer = optim::make_optimizer(kSgd, strategy.param_groups());
  const Share share(rank, world_size);
  for (int step = 0; step < kSteps; ++step) {
    ragged_step(strategy, net, share, num_microbatches);
    clip_grad_norm(strategy, 0.5);
    optimizer->step(0.05);
  }
  return copies(net);
}

TEST(Ddp, RanksAndMicrobatchesGiveTheNumbersOfOneBigBatch) {
  const std::vector<at::Tensor> expected = train(*make_none({}), 0, 1, 1);
  EXPECT_FALSE(at::allclose(expected[0], SmallNet().conv_weight, 1e-3, 1e-3));  // it did learn
  for (const int world_size : {1, 2, 3, 4}) {
    for (const int num_microbatches : {1, 3}) {
      run_ranks(world_size, [&](comm::Communicator& communicator) {
        const auto strategy = make_ddp(kDdpBuckets, communicator);
        const auto actual = train(*strategy, communicator.rank(), world_size, num_microbatches);
        EXPECT_GT(strategy->layout().buckets.size(), 2U);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_LE((actual[i] - expected[i]).abs().max().item<double>(), 1e-10)
              << world_size << " ranks, " << num_microbatches << " microbatches, parameter " << i;
        }
      });
    }
  }
}

TEST(Ddp, AllRanksStartAsRankZero) {
  run_ranks(3, [](comm::Communicator& communicator) {
    SmallNet net(static_cast<double>(communicator.rank()));
    net.head_bias.requires_grad_(false);
    const SmallNet expected(0);
    make_ddp(kDdpBuckets, communicator)->prepare(net, kDdpRules);
    EXPECT_TRUE(at::equal(net.conv_weight, expected.conv_weight));
    EXPECT_TRUE(at::equal(net.head_bias, expected.head_bias));
    EXPECT_TRUE(at::equal(net.seen, expected.seen));
  });
}

TEST(Ddp, BuffersBecomeRankZeros) {
  run_ranks(2, [](comm::Communicator& communicator) {
    SmallNet net;
    const auto strategy = make_ddp({}, communicator);
    strategy->prepare(net, kDdpRules);
    net.seen.fill_(communicator.rank() + 5);
    strategy->synchronise_buffers();
    EXPECT_TRUE(at::equal(net.seen, at::full({2}, 5.0, at::kDouble)));
  });
}

TEST(Ddp, DifferentModelsAreRefusedWithRankAndParameter) {
  run_ranks(3, [](comm::Communicator& communicator) {
    SmallNet net(0, communicator.rank() == 2 ? at::kFloat : at::kDouble);
    const auto strategy = make_ddp({}, communicator);
    EXPECT_THAT([&] { strategy->prepare(net, kDdpRules); },
                ThrowsMessage<base::ConfigError>(
                    testing::AllOf(HasSubstr("'conv_weight' float64"), HasSubstr("on rank 2"))));
  });
}

TEST(Ddp, AParameterUnusedOnOneRankCountsAsZeroThere) {
  run_ranks(2, [](comm::Communicator& communicator) {
    SmallNet net;
    DdpConfig config = kDdpBuckets;
    config.allow_unused_parameters = true;
    const auto strategy = make_ddp(config, communicator);
    strategy->prepare(net, kDdpRules);
    strategy->begin_microbatch(true, true);
    strategy->backward(communicator.rank() == 0 ? net.conv_bias.sum() : net.head_bias.sum(), 1.0);
    strategy->finish_gradients();
    EXPECT_NEAR(grad_norm(*strategy).item<double>(), std::sqrt(6.0 + 5.0), 1e-12);
  });
}

TEST(Ddp, OneRankWritesTheState) {
  std::mutex mutex;
  int writers = 0;
  run_ranks(3, [&](comm::Communicator& communicator) {
    SmallNet net;
    const auto strategy = make_ddp({}, communicator);
    strategy->prepare(net, kDdpRules);
    const std::lock_guard lock(mutex);
    for (const StateShard& shard : strategy->model_state()) writers += shard.is_writer ? 1 : 0;
  });
  EXPECT_EQ(writers, 7);
}

TEST(Ddp, LateParametersAreReportedAndAnOwnOrderMendsIt) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto late_with = [&](const DdpConfig& config) {
      SmallNet net;
      const auto strategy = make_ddp(config, communicator);
      strategy->prepare(net, kDdpRules);
      ragged_step(*strategy, net, Share(communicator.rank(), 2), 1);
      return strategy->communication_report().late_parameters;
    };
    DdpConfig config = kDdpBuckets;
    EXPECT_THAT(late_with(config), testing::IsEmpty());
    config.bucket_order = {"conv_weight"};
    EXPECT_THAT(late_with(config), testing::Contains("conv_weight"));
  });
}

TEST(Ddp, BuffersAreRankZerosOrStayEachRanksOwn) {
  for (const BufferPolicy policy : {BufferPolicy::kBroadcast, BufferPolicy::kKeep}) {
    run_ranks(2, [&](comm::Communicator& communicator) {
      SmallNet net;
      const auto strategy = make_ddp({.buffers = policy}, communicator);
      strategy->prepare(net, kDdpRules);
      const at::NoGradGuard no_grad;
      at::Tensor buffer = net.named_buffers().begin()->value();
      buffer.fill_(communicator.rank() + 5);
      strategy->synchronise_buffers();
      const bool has_own = policy == BufferPolicy::kKeep && communicator.rank() == 1;
      EXPECT_TRUE(buffer.eq(has_own ? 6 : 5).all().item<bool>());
      for (const StateShard& shard : strategy->model_state()) {
        const bool is_buffer = shard.name == net.named_buffers().begin()->key();
        EXPECT_EQ(shard.is_replicated, !is_buffer || policy == BufferPolicy::kBroadcast);
      }
    });
  }
}

}  // namespace
}  // namespace paceline::parallel
