#include "paceline/metrics/process_usage.h"

#include "support/temp_folder.h"

#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::metrics {
namespace {

TEST(ProcessUsage, ReadsTheFilesOfTheKernel) {
  const test::TempFolder proc;
  proc.write("42/stat", "42 (a) name) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 9 9 9\n");
  proc.write("42/status",
             "Name:\ta) name\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n");
  const auto usage = read_process_usage(42, proc.path());
  ASSERT_TRUE(usage.has_value());
  EXPECT_DOUBLE_EQ(usage->cpu_s, 200.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(usage->resident_bytes, 1024u * 1024);
  EXPECT_EQ(usage->peak_resident_bytes, 2048u * 1024);
}

TEST(ProcessUsage, AProcessThatIsNotThereHasNone) {
  const test::TempFolder proc;
  EXPECT_FALSE(read_process_usage(42, proc.path()).has_value());
}

TEST(ProcessUsage, SeesWhatThisProcessUses) {
  const auto before = read_process_usage(getpid());
  ASSERT_TRUE(before.has_value());
  const std::vector<char> held(64 << 20, 'x');
  auto after = read_process_usage(getpid());
  while (after->cpu_s <= before->cpu_s) after = read_process_usage(getpid());
  EXPECT_GT(after->resident_bytes, before->resident_bytes + (32u << 20));
  EXPECT_GE(after->peak_resident_bytes, after->resident_bytes);
  EXPECT_EQ(held.back(), 'x');
}

}  // namespace
}  // namespace paceline::metrics
