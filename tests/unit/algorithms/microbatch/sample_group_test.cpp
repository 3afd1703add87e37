#include "paceline/algorithms/microbatch/sample_group.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;

TEST(SampleGroup, IsTheWholeMicrobatchUnlessToldOtherwise) {
  const auto groups = sample_groups({1, 2, 30}, 5, {});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].row, 0);
  EXPECT_EQ(groups[0].count, 5);
  EXPECT_EQ(groups[0].key.position, 30);
  EXPECT_TRUE(sample_groups({1, 2, 30}, 0, {}).empty());
}

TEST(SampleGroup, BordersAreWhereThePositionsSay) {
  const auto groups = sample_groups({1, 2, 6}, 9, 4);  // places 6 and 7, 8 to 11, 12 to 14
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_THAT(rows_of(groups[0]), ElementsAre(0, 1));
  EXPECT_THAT(rows_of(groups[1]), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(rows_of(groups[2]), ElementsAre(6, 7, 8));
  EXPECT_EQ(groups[0].key.position, 6);
  EXPECT_EQ(groups[1].key.position, 8);
  EXPECT_EQ(groups[2].key.position, 12);
  for (const SampleGroup& group : groups) {
    EXPECT_EQ(group.key.seed, 1U);
    EXPECT_EQ(group.key.step, 2);
  }
}

TEST(SampleGroup, DrawsAreOfSeedStepPlaceAndWhatTheyAreFor) {
  using enum Drawn;
  const auto draw = [](const GroupKey& key, Drawn what) { return key.draws(what).next64(); };
  EXPECT_EQ(draw({1, 2, 3}, kMixup), draw({1, 2, 3}, kMixup));
  std::set<std::uint64_t> draws{draw({2, 2, 3}, kMixup), draw({1, 3, 3}, kMixup),
                                draw({1, 2, 4}, kMixup)};
  for (const Drawn what : {kMixup, kCutmix, kCutout, kColout, kTurn, kSelection, kResizing})
    draws.insert(draw({1, 2, 3}, what));
  EXPECT_EQ(draws.size(), 10U);
}

}  // namespace
}  // namespace paceline::algorithms
