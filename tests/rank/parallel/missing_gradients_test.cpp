#include "paceline/parallel/missing_gradients.h"

#include "paceline/base/error.h"
#include "paceline/parallel/distributed_data_parallel.h"
#include "paceline/parallel/replicated_strategy.h"
#include "paceline/parallel/sharded_strategy.h"
#include "support/block_net.h"
#include "support/run_ranks.h"

#include <functional>
#include <limits>

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

using MakeStrategy = std::function<std::unique_ptr<Strategy>(comm::Communicator&)>;

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

std::vector<MakeStrategy> strategies() {
  const DdpConfig buckets{.first_bucket_mib = 0.0005, .bucket_mib = 0.001};
  return {[=](comm::Communicator& communicator) { return make_ddp(buckets, communicator); },
          [](comm::Communicator& communicator) { return make_zero1({}, communicator); },
          [](comm::Communicator& communicator) { return make_zero2({}, communicator); },
          [](comm::Communicator& communicator) { return make_fsdp({}, communicator); },
          [](comm::Communicator& communicator) { return make_hsdp({}, 2, communicator); }};
}

TEST(MissingGradients, OfSomeRanksAreTheSameErrorOnAll) {
  for (const MakeStrategy& make : strategies()) {
    run_ranks(4, [&](comm::Communicator& communicator) {
      BlockNet net;
      const auto strategy = make(communicator);
      strategy->prepare(net, kOneGroup);
      strategy->begin_microbatch(true, true);
      strategy->backward(partial_loss(net, communicator.rank()), 1.0);
      EXPECT_THAT([&] { strategy->finish_gradients(); }, kNamesParametersAndRanks)
          << strategy->name();
    });
  }
}

TEST(MissingGradients, InsideABlockAreTheSameErrorOnAll) {
  for (const MakeStrategy& make : strategies()) {
    run_ranks(4, [&](comm::Communicator& communicator) {
      BlockNet net;
      const auto strategy = make(communicator);
      strategy->prepare(net, kOneGroup);
      net.blocks[2]->bias.requires_grad_(communicator.rank() != 1);
      strategy->begin_microbatch(true, true);
      strategy->backward(partial_loss(net, /*rank=*/0), 1.0);
      EXPECT_THAT([&] { strategy->finish_gradients(); },
                  ThrowsMessage<base::ConfigError>(HasSubstr("'block2.bias' on rank 1")))
          << strategy->name();
    });
  }
}

TEST(MissingGradients, OfOneMicrobatchAreNone) {
  for (const MakeStrategy& make : strategies()) {
    run_ranks(4, [&](comm::Communicator& communicator) {
      BlockNet net;
      const auto strategy = make(communicator);
      strategy->prepare(net, kOneGroup);
      strategy->begin_microbatch(true, false);
      strategy->backward(partial_loss(net, /*rank=*/0), 1.0);
      strategy->begin_microbatch(false, true);
      strategy->backward(partial_loss(net, communicator.rank()), 1.0);
      EXPECT_NO_THROW(strategy->finish_gradients()) << strategy->name();
    });
  }
}

TEST(MissingGradients, AreNotGradientsThatAreNotANumber) {
  for (const MakeStrategy& make : strategies()) {
    run_ranks(4, [&](comm::Communicator& communicator) {
      BlockNet net;
      const auto strategy = make(communicator);
      strategy->prepare(net, kOneGroup);
      strategy->begin_microbatch(true, true);
      const double factor = std::numeric_limits<double>::quiet_NaN();
      strategy->backward(partial_loss(net, /*rank=*/0), factor);
      EXPECT_NO_THROW(strategy->finish_gradients()) << strategy->name();
      EXPECT_TRUE(std::isnan(strategy->grad_norm())) << strategy->name();
    });
  }
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
  const at::Tensor element = at::full({}, std::numeric_limits<double>::quiet_NaN());
  const std::vector<std::string> names{"a", "b"};
  run_ranks(2, [&](comm::Communicator& communicator) {
    EXPECT_THAT([&] { refuse_missing_gradients(element, names, {"ddp"}, &communicator); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'a', 'b' on any rank; ")));
  });
  EXPECT_THAT([&] { refuse_missing_gradients(element, names, {"none"}, nullptr); },
              ThrowsMessage<base::ConfigError>(HasSubstr("reached 'a', 'b'; ")));
}

}  // namespace
}  // namespace paceline::parallel
