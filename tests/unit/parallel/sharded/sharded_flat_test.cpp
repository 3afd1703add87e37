#include "paceline/parallel/sharded/sharded_flat.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/comm/local/local_group.h"
#include "paceline/tensor/torch.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using test::run_ranks;
using test::wave;

/// Two parameters of 6 and 10 elements.
struct Parameters {
  explicit Parameters(double phase) {
    for (const auto& [name, size] : {std::pair("a", 6), std::pair("b", 10)}) {
      named.push_back({name, wave({size}, phase).requires_grad_()});
      specs.push_back(tensor::describe(name, named.back().tensor, 0));
    }
  }
  std::vector<NamedTensor> named;
  std::vector<tensor::TensorSpec> specs;
};

ShardedFlatOptions in_double() { return {.param_dtype = at::kDouble, .reduce_dtype = at::kDouble}; }

TEST(ShardedFlat, GathersTheFirstRanksValuesAndFreesThem) {
  run_ranks(2, [](comm::Communicator& group) {
    Parameters parameters(group.rank());
    ShardedFlat flat(parameters.named, parameters.specs, {}, group, group, in_double());
    const at::Tensor& b = parameters.named[1].tensor;
    EXPECT_EQ(b.storage().nbytes(), 0U);
    flat.start_gather("flat")->wait();
    flat.end_gather();
    EXPECT_TRUE(b.equal(wave({10}, 0)));
    EXPECT_TRUE(parameters.named[0].tensor.equal(wave({6}, 0)));
    flat.check_views();
    EXPECT_FALSE(flat.release());
    EXPECT_EQ(b.storage().nbytes(), 0U);
    EXPECT_EQ(b.numel(), 10);  // the tensor is what it was, without memory
  });
}

TEST(ShardedFlat, GatheringIsNoChangeForAutograd) {
  run_ranks(2, [](comm::Communicator& group) {
    Parameters parameters(0);
    ShardedFlat flat(parameters.named, parameters.specs, {}, group, group, in_double());
    const auto version = [&] { return parameters.named[0].tensor._version(); };
    const auto before = version();
    flat.start_gather("flat")->wait();
    EXPECT_EQ(version(), before);
    flat.bump_versions();
    EXPECT_GT(version(), before);
  });
}

TEST(ShardedFlat, SumsGradientsOverRanksAndMicrobatches) {
  run_ranks(2, [](comm::Communicator& group) {
    Parameters parameters(0);
    ShardedFlat flat(parameters.named, parameters.specs, {}, group, group, in_double());
    const auto grad = [&](double value) { return at::full({10}, value, at::kDouble); };
    const std::size_t b = flat.layout().slots[0].spec.name == "b" ? 0 : 1;
    for (int pass = 0; pass < 2; ++pass) {
      flat.take_gradient(b, grad(group.rank() + 1), /*add=*/false);
      flat.take_gradient(b, grad(10), /*add=*/true);
      flat.zero_gradient(1 - b);
      flat.start_reduce("flat")->wait();
      flat.end_reduce(/*add=*/pass == 1);
    }
    // Twice (1 + 10) + (2 + 10), in ten places that this rank holds a part of, and zero elsewhere.
    const at::Tensor sum = flat.grad_shard().sum();
    group.all_reduce(sum, comm::ReduceOp::kSum)->wait();
    EXPECT_EQ(sum.item<double>(), 2 * 23 * 10);
    EXPECT_EQ(flat.grad_shard().max().item<double>(), group.rank() == 0 ? 46 : 0);
  });
}

TEST(ShardedFlat, AloneItsShardIsTheWholeAndNothingMoves) {
  const auto group = comm::LocalGroup(1).join(0);
  Parameters parameters(0);
  ShardedFlat flat(parameters.named, parameters.specs, {}, *group, *group, in_double());
  EXPECT_EQ(flat.start_gather("flat"), nullptr);
  EXPECT_TRUE(flat.release());
  EXPECT_TRUE(flat.shard().is_alias_of(parameters.named[0].tensor));
  flat.take_gradient(0, at::ones({10}, at::kDouble), /*add=*/false);
  EXPECT_EQ(flat.start_reduce("flat"), nullptr);
  flat.end_reduce(/*add=*/false);
  EXPECT_EQ(flat.grad_shard().sum().item<double>(), 10);
}

TEST(ShardedFlat, ComputesInAnotherTypeThanItKeeps) {
  run_ranks(2, [](comm::Communicator& group) {
    Parameters parameters(0);
    ShardedFlat flat(parameters.named, parameters.specs, {}, group, group,
                     {.param_dtype = at::kBFloat16, .reduce_dtype = at::kFloat});
    EXPECT_EQ(flat.shard().scalar_type(), at::kDouble);
    flat.start_gather("flat")->wait();
    const at::Tensor& a = parameters.named[0].tensor;
    EXPECT_EQ(a.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(a.equal(wave({6}, 0).to(at::kBFloat16)));
  });
}

// What reads gathered parameters after they were freed ends the program and does not read others'.
TEST(ShardedFlatDeathTest, FreedParametersCannotBeRead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto group = comm::make_fake_communicator(0, 2);
  Parameters parameters(0);
  ShardedFlat flat(parameters.named, parameters.specs, {}, *group, *group, in_double());
  EXPECT_DEATH(at::sum(parameters.named[0].tensor.detach()), "");
}

}  // namespace
}  // namespace paceline::parallel
