#include "paceline/base/parallel_for.h"

#include "paceline/base/error.h"

#include <atomic>
#include <latch>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(ParallelFor, DoesEachPieceOnceOnAnyNumberOfThreads) {
  for (const int threads : {0, 1, 2, 5}) {
    std::vector<std::atomic<int>> done(100);
    parallel_for(100, threads, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
  parallel_for(0, 2, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsWhatTheWorkThrew) {
  EXPECT_THROW(parallel_for(10, 3,
                            [](std::int64_t i) {
                              if (i == 4) throw base::DataError("four");
                            }),
               base::DataError);
}

TEST(ParallelFor, ThrowsOnceIfAllThreadsThrowAtOnce) {
  std::latch all_work(4);
  EXPECT_THROW(parallel_for(4, 4,
                            [&](std::int64_t) {
                              all_work.arrive_and_wait();
                              throw base::DataError("each");
                            }),
               base::DataError);
}

}  // namespace
}  // namespace paceline::base
