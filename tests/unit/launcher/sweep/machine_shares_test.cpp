#include "paceline/launcher/sweep/machine_shares.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MachineSharesTest, NeighboursStayTogether) {
  const auto shares =
      share_machine({.cores = {0, 1, 2, 3, 8}, .num_cores = 5, .gpus = {"0", "1", "2", "3"}}, 2);
  ASSERT_EQ(shares.size(), 2);
  EXPECT_THAT(shares[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(shares[1].cores, ElementsAre(2, 3, 8));
  EXPECT_THAT(shares[0].gpus, ElementsAre("0", "1"));
  EXPECT_THAT(shares[1].gpus, ElementsAre("2", "3"));
  EXPECT_EQ(shares[1].threads, 3);
}

TEST(MachineSharesTest, OfFewerThanJobsEachHasOne) {
  const auto shares = share_machine({.cores = {4, 5}, .num_cores = 2, .gpus = {"GPU-a"}}, 3);
  EXPECT_THAT(shares[0].cores, ElementsAre(4));
  EXPECT_THAT(shares[1].cores, ElementsAre(5));
  EXPECT_THAT(shares[2].cores, ElementsAre(4));
  EXPECT_THAT(shares[2].gpus, ElementsAre("GPU-a"));
}

TEST(MachineSharesTest, UnderAQuotaThreadsAreSharedAlone) {
  const auto shares = share_machine({.cores = {}, .num_cores = 8, .gpus = {}}, 3);
  EXPECT_THAT(shares[0].cores, IsEmpty());
  EXPECT_EQ(shares[0].threads, 2);
}

TEST(MachineSharesTest, TheEnvironmentTellsTheShare) {
  const MachineShare share{.cores = {0, 1, 2, 3}, .gpus = {"2", "3"}, .threads = 4};
  const launch::Environment empty;
  const auto two_jobs = environment_of(share, 2, 0, empty);
  EXPECT_EQ(two_jobs.get("CUDA_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(two_jobs.get("OMP_NUM_THREADS"), "2") << "a rank for each GPU";
  EXPECT_EQ(environment_of(share, 2, 1, empty).get("OMP_NUM_THREADS"), "4");
  EXPECT_FALSE(environment_of(share, 1, 0, empty).has("CUDA_VISIBLE_DEVICES"))
      << "one job has all of the machine";
  launch::Environment own;
  own.set("OMP_NUM_THREADS", "7");
  EXPECT_EQ(environment_of(share, 2, 1, own).get("OMP_NUM_THREADS"), "7");
}

}  // namespace
}  // namespace paceline::launcher
