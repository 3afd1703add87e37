#include "paceline/comm/peer_watch.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace paceline::comm {
namespace {

std::shared_ptr<FlightRecorder> recorder_with(int collectives) {
  auto recorder = std::make_shared<FlightRecorder>();
  for (int i = 0; i < collectives; ++i) {
    recorder->issue({.kind = CollectiveKind::kBarrier}, {});
  }
  return recorder;
}

TEST(PeerWatch, LearnsWhatTheLivingAreAtAndWhoIsSilent) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 3, recorder_with(5));
  const PeerWatch rank_1(store, 1, 3, recorder_with(4));
  CollectiveFailure failure{.rank = 0, .sequence = 5, .cause = "time-out", .histories = {}};
  rank_0.ask_all(failure, std::chrono::milliseconds(200));
  ASSERT_EQ(failure.histories.size(), 3U);
  EXPECT_FALSE(failure.store_is_gone);
  EXPECT_EQ(failure.histories[0]->size(), 5U);
  ASSERT_TRUE(failure.histories[1].has_value());
  EXPECT_EQ(failure.histories[1]->size(), 4U);
  EXPECT_FALSE(failure.histories[2].has_value());
}

TEST(PeerWatch, GarbageIsNeitherALostRankNorALostStore) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 3, recorder_with(5));
  const PeerWatch rank_2(store, 2, 3, recorder_with(5));
  store->set("watch/history/1", std::vector<std::uint8_t>(60'000, '['));
  CollectiveFailure failure{.rank = 0, .sequence = 5, .cause = "time-out", .histories = {}};
  rank_0.ask_all(failure, std::chrono::seconds(20));
  EXPECT_FALSE(failure.store_is_gone);
  EXPECT_EQ(failure.unreadable, std::vector{1});
  EXPECT_TRUE(failure.histories[2].has_value());
  EXPECT_NE(explain(failure).find("rank 1 wrote"), std::string::npos) << explain(failure);
  EXPECT_EQ(explain(failure).find("is lost"), std::string::npos) << explain(failure);
}

TEST(PeerWatch, RanksThatWaitForTheSameOrForTheOneBehindWaitOn) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 3, recorder_with(5));
  const PeerWatch rank_1(store, 1, 3, recorder_with(5));
  const PeerWatch rank_2(store, 2, 3, recorder_with(4));
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(rank_0.waits_in_vain());
    EXPECT_FALSE(rank_1.waits_in_vain());
    EXPECT_FALSE(rank_2.waits_in_vain());
  }
}

TEST(PeerWatch, TheFirstOfTwoThatWaitCrosswiseLeavesWordForTheOther) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto other = recorder_with(4);
  other->issue({.kind = CollectiveKind::kAllReduce}, {});
  const PeerWatch rank_0(store, 0, 2, recorder_with(5));
  const PeerWatch rank_1(store, 1, 2, other);
  EXPECT_FALSE(rank_0.waits_in_vain());
  EXPECT_TRUE(rank_1.waits_in_vain());
  EXPECT_TRUE(rank_0.waits_in_vain());
}

TEST(PeerWatch, ServerLeavesWhenAllHaveLeft) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  PeerWatch rank_0(store, 0, 2, recorder_with(0));
  PeerWatch rank_1(store, 1, 2, recorder_with(0));
  rank_1.leave(std::chrono::minutes(1));
  rank_0.leave(std::chrono::minutes(1));
  EXPECT_EQ(store->add("watch/left", 0), 2);
}

}  // namespace
}  // namespace paceline::comm
