#include "paceline/checkpoint/replica_check.h"

#include "paceline/base/error.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/counting_communicator.h"

#include <functional>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Shards = std::vector<tensor::StateShard>;

/// What check_replicas says on each rank after `change` was applied to its shards; "" if it
/// returns.
std::vector<std::string> outcomes(int world_size, Layout layout,
                                  const std::function<void(Shards&, int rank)>& change) {
  std::vector<std::string> messages(static_cast<std::size_t>(world_size));
  test::run_ranks(world_size, [&](comm::Communicator& communicator) {
    const int rank = communicator.rank();
    Shards shards = shards_of(whole_model(1), layout, rank, world_size);
    change(shards, rank);
    try {
      check_replicas(shards, communicator);
    } catch (const base::DivergedError& error) {
      messages[static_cast<std::size_t>(rank)] = error.what();
    }
  });
  return messages;
}

TEST(CheckReplicas, EqualOnesPassAndSoDoPartsThatOneRankHolds) {
  EXPECT_THAT(outcomes(3, Layout::kReplicated, [](Shards&, int) {}), Each(""));
  EXPECT_THAT(outcomes(3, Layout::kSharded, [](Shards&, int) {}), Each(""));
}

TEST(CheckReplicas, EqualReplicasAreKnownByOneReduction) {
  test::run_ranks(3, [&](comm::Communicator& world) {
    test::CountingCommunicator communicator(world);
    check_replicas(shards_of(whole_model(1), Layout::kReplicated, world.rank(), 3), communicator);
    EXPECT_THAT(communicator.take_calls(),
                ElementsAre(test::CountedCall{comm::CollectiveKind::kAllReduce, 16}));
  });
}

TEST(CheckReplicas, ADifferentBitIsNamedWithItsTensorAndRanks) {
  const auto flip = [](Shards& shards, int rank) {
    if (rank == 1) static_cast<char*>(shards[0].data.mutable_data_ptr())[17] ^= 1;
  };
  EXPECT_THAT(outcomes(3, Layout::kReplicated, flip),
              Each(AllOf(HasSubstr("differ in 1 of 4 tensors"),
                         HasSubstr("conv.weight: rank 1 against ranks 0, 2"),
                         Not(HasSubstr("fc.weight")))));
}

TEST(CheckReplicas, WhatIsARanksOwnMayDiffer) {
  const auto own = [](Shards& shards, int rank) {
    shards[0].data.fill_(rank);
    shards[0].is_replicated = false;
  };
  EXPECT_THAT(outcomes(2, Layout::kReplicated, own), Each(""));
}

}  // namespace
}  // namespace paceline::checkpoint
