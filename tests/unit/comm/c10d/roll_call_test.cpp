#include "paceline/comm/c10d/roll_call.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

constexpr std::size_t kEnough = 1 << 20;

CollectiveHistory history_of(int collectives, const std::string& what = "barrier") {
  CollectiveHistory history;
  for (int i = 1; i <= collectives; ++i) {
    history.push_back({.sequence = static_cast<std::uint64_t>(i), .what = what, .label = "label"});
  }
  return history;
}

RollCall read_back(const RollCall& call, std::size_t longest = kEnough) {
  const std::string text = to_json(call, longest);
  EXPECT_LE(text.size(), longest);
  return roll_call_from_json(text, static_cast<int>(call.histories.size()));
}

TEST(RollCall, ComesBackWithWhoIsSilentAndWhoIsUnreadable) {
  const RollCall call{.histories = {history_of(3), std::nullopt, history_of(2), history_of(3)},
                      .unreadable = {1}};
  const RollCall read = read_back(call);
  ASSERT_EQ(read.histories.size(), 4U);
  EXPECT_EQ(read.histories[0]->size(), 3U);
  EXPECT_FALSE(read.histories[1].has_value());
  EXPECT_EQ(read.histories[2]->back().sequence, 2U);
  EXPECT_EQ(read.histories[3]->back().what, "barrier");
  EXPECT_EQ(read.histories[3]->back().label, "label");
  EXPECT_FALSE(read.histories[3]->back().is_done);
  EXPECT_EQ(read.unreadable, std::vector{1});
}

TEST(RollCall, ManyRanksAtTheSameTakeLittleMoreThanOne) {
  const RollCall one{.histories = {history_of(64)}};
  RollCall many;
  many.histories.assign(1000, history_of(64));
  for (std::size_t rank = 0; rank < 1000; ++rank) {
    many.histories[rank]->at(rank % 60).is_done = true;  // waited for in another order
  }
  EXPECT_LE(to_json(many, kEnough).size(), to_json(one, kEnough).size() + 1000 * 4);
}

TEST(RollCall, WhereManyDifferTheirLastCollectivesAreKept) {
  RollCall call;
  for (int rank = 0; rank < 300; ++rank) {
    call.histories.emplace_back(history_of(64, "all_reduce sum [" + std::to_string(rank) + "]"));
  }
  const RollCall read = read_back(call, 100'000);
  for (std::size_t rank = 0; rank < 300; ++rank) {
    EXPECT_LT(read.histories[rank]->size(), 64U);
    EXPECT_EQ(read.histories[rank]->back().sequence, 64U);
    EXPECT_EQ(read.histories[rank]->back().what, "all_reduce sum [" + std::to_string(rank) + "]");
  }
}

TEST(RollCall, RefusesWhatNoRankHasWritten) {
  const std::string genuine = to_json(RollCall{.histories = {history_of(1)}}, kEnough);
  EXPECT_NO_THROW(roll_call_from_json(genuine, 1));
  EXPECT_THROW(roll_call_from_json(genuine, 2), base::CommError);
  for (const std::string forged :
       {"", "[]", "{}", R"({"histories": [], "of_rank": [0], "unreadable": []})",
        R"({"histories": ["x"], "of_rank": [0], "unreadable": []})",
        R"({"histories": [], "of_rank": [-1], "unreadable": ["x"]})"}) {
    EXPECT_THROW(roll_call_from_json(forged, 1), base::CommError) << forged;
  }
}

}  // namespace
}  // namespace paceline::comm
