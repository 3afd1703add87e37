#include "paceline/parallel/sharded/sharded_layout.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "support/block_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using test::BlockNet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Rank 1 of four.
class ShardedLayoutTest : public testing::Test {
 protected:
  ShardedLayout cut(const BlockNet& net, const ShardedConfig& config = {}) const {
    return {net, optim::weight_decay_rules(0.0, false, {}), {}, config, false, groups_};
  }

  static std::vector<std::string> unit_names(const ShardedLayout& layout) {
    std::vector<std::string> names;
    for (const auto& unit : layout.units()) names.push_back(unit->name());
    return names;
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_fake_communicator(1, 4);
  ShardGroups groups_{*world_, 0};
};

TEST_F(ShardedLayoutTest, IsOneUnitForEachBlockAndOneForTheRest) {
  const ShardedLayout layout = cut(BlockNet());
  EXPECT_THAT(unit_names(layout),
              ElementsAre("block0", "block1", "block2", "block3", "what lies in no block"));
  EXPECT_EQ(layout.num_blocks(), 4U);
  EXPECT_EQ(layout.blocks().size(), 4U);
  std::vector<std::string> reductions;
  for (const ShardUnit* unit : layout.reductions()) reductions.push_back(unit->name());
  EXPECT_THAT(reductions,
              ElementsAre("block3", "block2", "block1", "block0", "what lies in no block"));
  EXPECT_EQ(layout.grad_shards().size(), 5U);
  EXPECT_TRUE(layout.grad_shards().front().is_same(layout.units()[3]->flats()[0]->grad_shard()));
}

TEST_F(ShardedLayoutTest, PutsNeighboursTogetherUntilTheyAreLargeEnough) {
  const ShardedLayout layout = cut(BlockNet(), {.min_unit_params = 300});  // a block has 156
  EXPECT_THAT(unit_names(layout), ElementsAre("block0", "block2", "what lies in no block"));
  EXPECT_EQ(layout.blocks()[0].size(), 2U);
}

TEST_F(ShardedLayoutTest, LeavesBlocksThatNobodyNamesWithTheRest) {
  const ShardedLayout layout = cut(BlockNet(), {.units = {"block1"}});
  EXPECT_THAT(unit_names(layout), ElementsAre("block1", "what lies in no block"));
  EXPECT_THAT([&] { cut(BlockNet(), {.units = {"block9"}}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("'block9'")));
}

TEST_F(ShardedLayoutTest, KnowsWhereEveryParameterLies) {
  const BlockNet net;
  const ShardedLayout layout = cut(net);
  EXPECT_EQ(layout.trained().size(), net.parameters().size());
  for (std::size_t i = 0; i < layout.trained().size(); ++i) {
    const ShardPlace& place = layout.place_of_trained(i);
    const NamedTensor& named = layout.flat_at(place).parameters()[place.slot];
    EXPECT_EQ(named.name, layout.trained()[i].name);
    EXPECT_EQ(layout.find(named.tensor)->slot, place.slot);
  }
  EXPECT_EQ(layout.find(net.blocks[2]->up)->unit, 2U);
  EXPECT_EQ(layout.find(net.head)->unit, 4U);
  EXPECT_EQ(layout.find(net.seen), nullptr);
}

TEST_F(ShardedLayoutTest, PutsWhatTwoBlocksShareInNone) {
  const BlockNet net(0, {.ties_blocks = true});
  EXPECT_EQ(cut(net).find(net.blocks[1]->down)->unit, 4U);
}

TEST_F(ShardedLayoutTest, ExpectsNoBackwardBelowTheFirstTrainedParameter) {
  const BlockNet net(0, {.freezes_first_blocks = true});
  net.head.requires_grad_(false);  // which is registered before the blocks
  const ShardedLayout layout = cut(net);
  EXPECT_THAT(layout.reached_by_backward(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(layout.trained().size(), 2 * 3U);
  EXPECT_FALSE(layout.units()[0]->is_trainable());
}

}  // namespace
}  // namespace paceline::parallel
