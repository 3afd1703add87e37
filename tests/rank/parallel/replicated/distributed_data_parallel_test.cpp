#include "paceline/parallel/replicated/distributed_data_parallel.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::run_ranks;
using paceline::test::SmallNet;
using paceline::test::summed_loss;
using Options = DistributedDataParallel::Options;

const DdpConfig kSmallBuckets{.first_bucket_mib = 0.0005, .bucket_mib = 0.001};

/// The gradients of the sum over samples [0, count), by autograd alone.
std::vector<at::Tensor> whole_gradients(std::int64_t count) {
  SmallNet net;
  summed_loss(net, 0, count).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : net.parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

void expect_gradients(const SmallNet& net, const std::vector<at::Tensor>& expected, double factor) {
  const auto parameters = net.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_TRUE(parameters[i].grad().defined()) << i;
    EXPECT_TRUE(at::allclose(parameters[i].grad(), expected[i] * factor, 1e-11, 1e-13)) << i;
    EXPECT_EQ(parameters[i].grad().strides(), parameters[i].strides());
  }
}

TEST(DistributedDataParallel, MeansOrSumsAndLeavesTheParametersWhereTheyAre) {
  const auto expected = whole_gradients(12);
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    run_ranks(3, [&](comm::Communicator& communicator) {
      SmallNet net(communicator.rank());
      const void* address = net.conv_weight.data_ptr();
      DistributedDataParallel ddp(net, communicator, {reduction, kSmallBuckets});
      summed_loss(net, 4 * communicator.rank(), 4).backward();
      ddp.finish_gradients();
      expect_gradients(net, expected, reduction == Reduction::kMean ? 1.0 / 3 : 1.0);
      EXPECT_EQ(net.conv_weight.data_ptr(), address);
    });
  }
}

TEST(DistributedDataParallel, WorksWithGradientsDroppedOrZeroed) {
  const auto expected = whole_gradients(8);
  for (const bool set_to_none : {true, false}) {
    run_ranks(2, [&](comm::Communicator& communicator) {
      SmallNet net;
      DistributedDataParallel ddp(net, communicator, {Reduction::kMean, kSmallBuckets});
      for (int step = 0; step < 3; ++step) {
        net.zero_grad(set_to_none);
        summed_loss(net, 4 * communicator.rank(), 4).backward();
        ddp.finish_gradients();
        expect_gradients(net, expected, 0.5);
      }
    });
  }
}

TEST(DistributedDataParallel, NoSyncAccumulatesUntilTheNextReduction) {
  const auto expected = whole_gradients(12);
  for (const bool set_to_none : {true, false}) {
    run_ranks(2, [&](comm::Communicator& communicator) {
      SmallNet net;
      DistributedDataParallel ddp(net, communicator, {Reduction::kMean, kSmallBuckets});
      for (int step = 0; step < 3; ++step) {
        net.zero_grad(set_to_none);
        const std::int64_t first = 6 * communicator.rank();
        {
          const auto local = ddp.no_sync();
          summed_loss(net, first, 2).backward();
          summed_loss(net, first + 2, 2).backward();
        }
        summed_loss(net, first + 4, 2).backward();
        ddp.finish_gradients();
        expect_gradients(net, expected, 0.5);
      }
    });
  }
}

TEST(DistributedDataParallel, AMeanKeepsWhatWasReducedBefore) {
  const auto expected = whole_gradients(8);
  run_ranks(2, [&](comm::Communicator& communicator) {
    SmallNet net;
    DistributedDataParallel ddp(net, communicator, {Reduction::kMean, kSmallBuckets});
    for (int i = 0; i < 2; ++i) {
      summed_loss(net, 4 * communicator.rank(), 4).backward();
      ddp.finish_gradients();
    }
    expect_gradients(net, expected, 1.0);  // twice one half, as without ranks
  });
}

TEST(DistributedDataParallel, AForgottenFinishIsAnError) {
  run_ranks(2, [](comm::Communicator& communicator) {
    SmallNet net;
    DistributedDataParallel ddp(net, communicator);
    summed_loss(net, 0, 2).backward();
    EXPECT_THAT(
        [&] { summed_loss(net, 0, 2).backward(); },
        testing::ThrowsMessage<base::InternalError>(testing::HasSubstr("finish_gradients()")));
  });
}

TEST(DistributedDataParallel, UnusedParametersAreNamedOrLeftOut) {
  run_ranks(2, [](comm::Communicator& communicator) {
    SmallNet net;
    {
      DistributedDataParallel strict(net, communicator, {Reduction::kMean, kSmallBuckets});
      net.head_bias.sum().backward();
      EXPECT_THAT([&] { strict.finish_gradients(); },
                  testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("'conv_weight'")));
    }
    net.zero_grad();
    Options options{Reduction::kMean, kSmallBuckets};
    options.buckets.allow_unused_parameters = true;
    DistributedDataParallel lenient(net, communicator, options);
    net.head_bias.sum().backward();
    lenient.finish_gradients();
    EXPECT_EQ(net.head_bias.grad().sum().item<double>(), 5.0);
    EXPECT_FALSE(net.conv_weight.grad().defined());
  });
}

TEST(DistributedDataParallel, StartsFromRankZeroAndSynchronisesBuffers) {
  run_ranks(2, [](comm::Communicator& communicator) {
    SmallNet net(communicator.rank());
    DistributedDataParallel ddp(net, communicator);
    EXPECT_TRUE(at::equal(net.hidden_weight, SmallNet(0).hidden_weight));
    EXPECT_TRUE(at::equal(net.seen, SmallNet(0).seen));
    net.seen.fill_(communicator.rank() + 5);
    ddp.synchronise_buffers();
    EXPECT_EQ(net.seen[0].item<double>(), 5.0);
  });
}

}  // namespace
}  // namespace paceline::parallel
