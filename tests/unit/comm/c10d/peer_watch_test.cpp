#include "paceline/comm/c10d/peer_watch.h"

#include "paceline/comm/c10d/run_store.h"
#include "support/counting_store.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <future>
#include <thread>
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
  rank_0.ask_all(failure, std::chrono::seconds(1));
  EXPECT_FALSE(failure.store_is_gone);
  EXPECT_EQ(failure.unreadable, std::vector{1});
  EXPECT_TRUE(failure.histories[2].has_value());
  EXPECT_NE(explain(failure).find("rank 1 wrote"), std::string::npos) << explain(failure);
  EXPECT_EQ(explain(failure).find("is lost"), std::string::npos) << explain(failure);
}

CollectiveFailure asked(const PeerWatch& watch, int rank, std::chrono::milliseconds grace) {
  CollectiveFailure failure{.rank = rank, .sequence = 5, .cause = "time-out", .histories = {}};
  watch.ask_all(failure, grace);
  return failure;
}

TEST(PeerWatch, WhoFailsLaterHearsWhatTheFirstHasHeard) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 3, recorder_with(5));
  const PeerWatch rank_1(store, 1, 3, recorder_with(4));
  auto first = std::async([&] { return asked(rank_0, 0, std::chrono::milliseconds(500)); });
  const CollectiveFailure second = asked(rank_1, 1, std::chrono::milliseconds(500));
  EXPECT_EQ(first.get().histories[1]->size(), 4U);
  EXPECT_EQ(second.histories[0]->size(), 5U);
  EXPECT_FALSE(second.histories[2].has_value());
  EXPECT_FALSE(second.store_is_gone);
  const CollectiveFailure third = asked(rank_1, 1, std::chrono::hours(1));
  EXPECT_EQ(third.histories[0]->size(), 5U) << "the roll call is there, nobody waits";
}

TEST(PeerWatch, ReadsTheAnswersItselfWhenTheFirstThatFailedDiesMeanwhile) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 3, recorder_with(5));
  const PeerWatch rank_1(store, 1, 3, recorder_with(4));
  store->add("watch/failures", 1);  // of rank 2, which wrote no roll call
  const CollectiveFailure failure = asked(rank_0, 0, std::chrono::milliseconds(100));
  EXPECT_FALSE(failure.store_is_gone);
  EXPECT_EQ(failure.histories[1]->size(), 4U);
  EXPECT_FALSE(failure.histories[2].has_value());
}

TEST(PeerWatch, AForgedRollCallIsNotBelieved) {
  const c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::HashStore>();
  const PeerWatch rank_0(store, 0, 2, recorder_with(5));
  const PeerWatch rank_1(store, 1, 2, recorder_with(4));
  asked(rank_0, 0, std::chrono::seconds(20));
  store->set("watch/roll_call", std::string("[]"));
  EXPECT_EQ(asked(rank_1, 1, std::chrono::seconds(20)).histories[0]->size(), 5U);
}

TEST(PeerWatch, TheAlarmReachesThoseThatWait) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::atomic<int> alarms = 0;
  {
    const auto ring = [&] { ++alarms; };
    const PeerWatch rank_0(store, 0, 3, recorder_with(5), ring);
    const PeerWatch rank_1(store, 1, 3, recorder_with(5), ring);
    { const PeerWatch rank_2(store, 2, 3, recorder_with(5), ring); }
    EXPECT_EQ(alarms, 0) << "its own end is no alarm";
    rank_0.wake_all();
    rank_1.wake_all();
    while (alarms < 2) std::this_thread::yield();
  }
  EXPECT_EQ(alarms, 2);
}

constexpr int kManyRanks = 1000;
constexpr int kLost = 617;

/// All ranks of a run but one, which is lost.
std::vector<std::unique_ptr<PeerWatch>> watches_of_many(const test::CountedStores& stores) {
  std::vector<std::unique_ptr<PeerWatch>> watches;
  for (int rank = 0; rank < kManyRanks; ++rank) {
    const auto store = c10::make_intrusive<RunStore>(stores.of(rank), "an id");
    watches.push_back(rank == kLost
                          ? nullptr
                          : std::make_unique<PeerWatch>(store, rank, kManyRanks, recorder_with(5)));
  }
  return watches;
}

TEST(PeerWatch, AFailureOfManyRanksAsksLittleOfTheStore) {
  test::CountedStores stores(kManyRanks);
  const auto watches = watches_of_many(stores);
  for (int rank = 0; rank < kManyRanks; ++rank) {
    if (rank == kLost) continue;
    const CollectiveFailure failure =
        asked(*watches[static_cast<std::size_t>(rank)], rank, std::chrono::seconds(2));
    for (int other = 0; other < kManyRanks; ++other) {
      EXPECT_EQ(failure.histories[static_cast<std::size_t>(other)].has_value(), other != kLost);
    }
  }
  EXPECT_LE(stores.most_operations(), 2 * std::bit_width(unsigned{kManyRanks}) + 14);
  EXPECT_LE(stores.operations(), 10 * kManyRanks);
}

TEST(PeerWatch, ManyRanksLeaveWithFewOperationsEach) {
  test::CountedStores stores(kManyRanks);
  const auto watches = watches_of_many(stores);
  PeerWatch lost(c10::make_intrusive<RunStore>(stores.of(kLost), "an id"), kLost, kManyRanks,
                 recorder_with(0));
  auto server = std::async([&] { watches[0]->leave(std::chrono::minutes(1)); });
  for (int rank = 1; rank < kManyRanks; ++rank) {
    PeerWatch& watch = rank == kLost ? lost : *watches[static_cast<std::size_t>(rank)];
    EXPECT_NE(server.wait_for(std::chrono::seconds(0)), std::future_status::ready) << rank;
    watch.leave(std::chrono::minutes(1));
  }
  server.get();
  EXPECT_LE(stores.most_operations(), 6);
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
