#include "paceline/app/assembly/local_ranks.h"

#include "support/run_ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::app {
namespace {

TEST(LocalRanks, AreNumberedWithTheirProcessesAndGpus) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    const bool has_gpu = communicator.rank() == 1;
    const auto ranks = ranks_beside_first(communicator, has_gpu ? "GPU-1" : "");
    ASSERT_EQ(ranks.size(), 3u);
    for (int rank = 0; rank < 3; ++rank) {
      const metrics::LocalRank& found = ranks[static_cast<std::size_t>(rank)];
      EXPECT_EQ(found.rank, rank);
      EXPECT_EQ(found.process, getpid());
      EXPECT_EQ(found.gpu, rank == 1 ? "GPU-1" : "");
    }
  });
}

TEST(LocalRanks, HaveOneSlotForEachThread) {
  paceline::test::run_ranks(3, [](comm::Communicator& communicator) {
    const auto slots = common_slots(communicator, 1 + communicator.rank());
    EXPECT_EQ(slots->count(), 6);
    data::SlotLease lease(*slots, communicator.rank());
    lease.take();
    lease.leave();
  });
}

}  // namespace
}  // namespace paceline::app
