#include "paceline/pretrained/transfer_progress.h"

#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(TransferProgress, TellsRateAndTimeLeft) {
  EXPECT_EQ(progress_text(30 * kMiB, 90 * kMiB, 20 * kMiB, 4),
            "30.0 MiB of 90.0 MiB, 5.0 MiB/s, 12.0 s left");
  EXPECT_EQ(progress_text(30 * kMiB, std::nullopt, 30 * kMiB, 10), "30.0 MiB, 3.0 MiB/s");
  EXPECT_EQ(progress_text(90 * kMiB, 90 * kMiB, 90 * kMiB, 9), "90.0 MiB of 90.0 MiB, 10.0 MiB/s");
}

}  // namespace
}  // namespace paceline::pretrained
