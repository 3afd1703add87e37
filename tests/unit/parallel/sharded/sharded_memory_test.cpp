#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "support/block_net.h"

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

// A unit's elements are rounded up to 32 on each of four ranks, and each of its parameters to 64
// bytes, which is 8 doubles. A block: 12 x 6, 12 and 6 x 12 are 72 + 16 + 72 = 160, as whole units
// of 128: 256. What lies in no block: the stem's 6 x 3 x 3 x 3 = 162 and the head's 5 x 6 = 30 are
// 168 + 32 = 200: 256. Five units of 256 elements in all.
constexpr std::uint64_t kUnitBytes = 256 * sizeof(double);
constexpr std::uint64_t kBufferBytes = 2 * sizeof(double);
constexpr std::uint64_t kNumUnits = 5;

StrategyMemory memory_of(std::unique_ptr<Strategy> (*make)(const ShardedConfig&,
                                                           comm::Communicator&),
                         const ShardedConfig& config = {}, int num_microbatches = 1) {
  const auto communicator = comm::make_fake_communicator(1, 4);
  test::BlockNet net;
  const auto strategy = make(config, *communicator);
  strategy->prepare(net, optim::weight_decay_rules(0.0, false, {}));
  return strategy->memory(num_microbatches);
}

TEST(ShardedMemory, EachRankHoldsAQuarter) {
  const StrategyMemory fsdp = memory_of(make_fsdp);
  EXPECT_EQ(fsdp.parameters, kNumUnits * kUnitBytes / 4 + kBufferBytes);
  EXPECT_EQ(fsdp.gradients, kNumUnits * kUnitBytes / 4);
  const StrategyMemory zero = memory_of(make_zero2);
  EXPECT_EQ(zero.parameters, kNumUnits * kUnitBytes + kBufferBytes);
  EXPECT_EQ(zero.gradients, kNumUnits * kUnitBytes / 4);
}

TEST(ShardedMemory, ThreeUnitsAreGatheredAndFourHaveGradientsAtMost) {
  // The one at work, the next one and what lies in no block; the gradients of the one at work, of
  // two on their way and of what lies in no block, and the sums of three.
  EXPECT_EQ(memory_of(make_fsdp).transient, 3 * kUnitBytes + 4 * kUnitBytes + 3 * kUnitBytes / 4);
  EXPECT_EQ(memory_of(make_fsdp, {.prefetch = 0}).transient,
            2 * kUnitBytes + 4 * kUnitBytes + 3 * kUnitBytes / 4);
  EXPECT_EQ(memory_of(make_zero2).transient, 4 * kUnitBytes + 3 * kUnitBytes / 4)
      << "nothing is gathered that was not there";
}

TEST(ShardedMemory, UnitsThatStayAreThereInBackward) {
  // Most is held at the second block: the first is still there, the gradients of three are.
  const StrategyMemory memory =
      memory_of(make_fsdp, {.reshard_after_forward = false, .prefetch = 0});
  EXPECT_EQ(memory.transient, 3 * kUnitBytes + 4 * kUnitBytes + 3 * kUnitBytes / 4);
}

TEST(ShardedMemory, MicrobatchesThatAddUpHoldAllGradients) {
  EXPECT_EQ(memory_of(make_zero1, {}, 2).transient, kNumUnits * kUnitBytes + 3 * kUnitBytes / 4);
  EXPECT_EQ(memory_of(make_zero1).transient, memory_of(make_zero2).transient);
}

TEST(ShardedMemory, ANarrowerTypeOfSumsHalvesTheGradientsOnTheirWay) {
  const StrategyMemory narrow = memory_of(make_zero2, {.reduce_dtype = ShardDtype::kFloat32});
  EXPECT_EQ(narrow.transient, memory_of(make_zero2).transient / 2);
}

}  // namespace
}  // namespace paceline::parallel
