#include "paceline/comm/flight_recorder.h"

#include "paceline/base/error.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CollectiveSignature all_reduce_of(std::int64_t numel) {
  return {.kind = CollectiveKind::kAllReduce,
          .argument = 0,
          .numel = numel,
          .sizes = {numel},
          .dims = 1,
          .dtype = 6};  // float32
}

/// A history whose records are all done except the last.
CollectiveHistory history_of(const std::vector<std::int64_t>& sizes) {
  FlightRecorder recorder;
  for (const std::int64_t size : sizes) {
    recorder.issue(all_reduce_of(size), "bucket of " + std::to_string(size));
  }
  for (std::size_t sequence = 1; sequence < sizes.size(); ++sequence) {
    recorder.complete(sequence);
  }
  return recorder.history();
}

TEST(FlightRecorder, KeepsTheLastCollectivesInOrder) {
  FlightRecorder recorder;
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(recorder.issue(all_reduce_of(i), "bucket"), static_cast<std::uint64_t>(i));
  }
  recorder.complete(2);  // long gone: must not mark the collective that took its place
  recorder.complete(99);
  const CollectiveHistory history = recorder.history();
  ASSERT_EQ(history.size(), FlightRecorder::kCapacity);
  EXPECT_EQ(history.front().sequence, 37U);
  EXPECT_EQ(history.back().sequence, 100U);
  EXPECT_EQ(history.back().what, "all_reduce sum [100] Float");
  for (const CollectiveRecord& record : history) {
    EXPECT_EQ(record.is_done, record.sequence == 99) << record.sequence;
  }
}

TEST(FlightRecorder, HistorySurvivesJson) {
  FlightRecorder recorder;
  recorder.issue(all_reduce_of(3), "layer \"1\"");
  recorder.issue({.kind = CollectiveKind::kBarrier}, std::string(200, 'x'));
  const CollectiveHistory history = history_from_json(to_json(recorder.history()));
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].label, "layer \"1\"");
  EXPECT_EQ(history[1].label, std::string(79, 'x'));
  EXPECT_EQ(history[1].what, "barrier");
}

TEST(Explain, NamesLostRanksFirst) {
  const CollectiveFailure failure{
      .rank = 0,
      .sequence = 2,
      .cause = "Connection closed by peer",
      .histories = {history_of({5, 6}), std::nullopt, history_of({5, 6})}};
  EXPECT_THAT(explain(failure),
              AllOf(StartsWith("rank 1 is lost"), HasSubstr("Connection closed by peer"),
                    HasSubstr("failed at collective #2 all_reduce sum [6] Float 'bucket of 6'"),
                    HasSubstr("rank 1 did not answer"), HasSubstr("rank 2 is at #2")));
}

TEST(Explain, SaysWhereTheOrderDiverged) {
  const CollectiveFailure failure{.rank = 0,
                                  .sequence = 3,
                                  .cause = "time-out",
                                  .histories = {history_of({5, 6, 7}), history_of({5, 9, 7})}};
  EXPECT_THAT(
      explain(failure),
      StartsWith("the order of collectives diverged at #2: rank 0 issued all_reduce sum [6] Float "
                 "'bucket of 6', rank 1 issued all_reduce sum [9] Float 'bucket of 9'"));
}

TEST(Explain, NamesRanksThatAreLate) {
  const CollectiveFailure failure{.rank = 1,
                                  .sequence = 3,
                                  .cause = "time-out",
                                  .histories = {history_of({5}), history_of({5, 6, 7})}};
  EXPECT_THAT(explain(failure), AllOf(StartsWith("rank 0 is alive but late"),
                                      HasSubstr("rank 0 is at #1 all_reduce sum [5] Float"),
                                      HasSubstr("Rank 1 failed at collective #3")));
}

TEST(Explain, SaysThatTheStoreIsGone) {
  const CollectiveFailure failure{.rank = 1,
                                  .sequence = 1,
                                  .cause = "Connection closed by peer",
                                  .histories = {std::nullopt, history_of({5})},
                                  .store_is_gone = true};
  EXPECT_THAT(explain(failure), AllOf(HasSubstr("rank 0"), HasSubstr("store is gone"),
                                      Not(HasSubstr("did not answer"))));
}

TEST(CollectiveHistory, GarbageIsRefused) {
  for (const std::string& garbage :
       {std::string(), std::string("x"), std::string("{}x"), std::string("[1]"),
        std::string("[[1,2,3,4]]"), std::string("[[-1,\"a\",\"b\"]]"), std::string(50'000, '['),
        "[" + std::string(100'000, ' ') + "]"})
    EXPECT_THROW(history_from_json(garbage), base::CommError) << garbage.substr(0, 20);
}

}  // namespace
}  // namespace paceline::comm
