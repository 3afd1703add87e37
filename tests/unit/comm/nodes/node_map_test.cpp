#include "paceline/comm/nodes/node_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using ::testing::ElementsAre;

TEST(NodeMap, KnowsTheNodesOfARun) {
  const std::vector<int> members{0, 1, 2, 3, 4, 5};
  const NodeMap map = map_nodes(members, 4, 2);
  EXPECT_THAT(map.first_ranks, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(map.num_nodes(), 3);
  EXPECT_EQ(map.world_size(), 6);
  EXPECT_EQ(map.node, 2);
  EXPECT_TRUE(map.is_first());
  EXPECT_EQ(map.node_of(3), 1);
  EXPECT_EQ(map_nodes(members, 3, 2).place(), 1);
}

TEST(NodeMap, CountsTheNodesThatAPartOfTheRunHas) {
  const std::vector<int> members{1, 4, 5, 6, 15};  // of nodes 0, 1 and 3 with four ranks each
  const NodeMap map = map_nodes(members, 3, 4);
  EXPECT_THAT(map.first_ranks, ElementsAre(0, 1, 4, 5));
  EXPECT_EQ(map.node, 1);
  EXPECT_EQ(map.place(), 2);
  EXPECT_EQ(map.size(1), 3);
  EXPECT_EQ(map.size(2), 1);
}

}  // namespace
}  // namespace paceline::comm
