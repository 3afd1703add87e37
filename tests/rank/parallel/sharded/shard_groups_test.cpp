#include "paceline/parallel/sharded/shard_groups.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

TEST(ShardGroups, OfAllRanksAreTheWorld) {
  test::run_ranks(2, [](comm::Communicator& world) {
    for (const int size : {0, 2}) {
      const ShardGroups groups(world, size);
      EXPECT_EQ(&groups.shards(), &world);
      EXPECT_EQ(groups.replicas(), nullptr);
      EXPECT_TRUE(groups.is_in_first_replica());
    }
  });
}

TEST(ShardGroups, OfNeighboursStandBesideTheirReplicas) {
  test::run_ranks(6, [](comm::Communicator& world) {
    const ShardGroups groups(world, 2);
    EXPECT_EQ(groups.shards().world_size(), 2);
    EXPECT_EQ(groups.shards().rank(), world.rank() % 2);
    EXPECT_EQ(groups.replicas()->world_size(), 3);
    EXPECT_EQ(groups.replicas()->rank(), world.rank() / 2);
    EXPECT_EQ(groups.is_in_first_replica(), world.rank() < 2);
  });
}

TEST(ShardGroups, DivideTheWorld) {
  test::run_ranks(4, [](comm::Communicator& world) {
    EXPECT_THROW(ShardGroups(world, 3), base::ConfigError);
    EXPECT_THROW(ShardGroups(world, -1), base::ConfigError);
  });
}

}  // namespace
}  // namespace paceline::parallel
