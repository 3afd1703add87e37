#include "paceline/checkpoint/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

TEST(Environment, KnowsThisProcess) {
  const Environment now = current_environment(4, "cpu");
  EXPECT_EQ(now.world_size, 4);
  EXPECT_GE(now.threads_per_rank, 1);
  EXPECT_TRUE(now.libtorch.starts_with("2."));
  EXPECT_FALSE(now.instruction_set.empty());
  EXPECT_EQ(now.device, "cpu");
}

TEST(Environment, NamesEveryDifference) {
  const Environment saved{2, 1, "2.11.0", "AVX2", "cpu"};
  EXPECT_TRUE(differences(saved, saved).empty());
  EXPECT_THAT(differences(saved, {4, 8, "2.12.0", "AVX512", "NVIDIA H200"}),
              ::testing::ElementsAre("world size: saved with 2, now 4",
                                     "threads per rank: saved with 1, now 8",
                                     "LibTorch: saved with 2.11.0, now 2.12.0",
                                     "instruction set: saved with AVX2, now AVX512",
                                     "device: saved with cpu, now NVIDIA H200"));
}

}  // namespace
}  // namespace paceline::checkpoint
