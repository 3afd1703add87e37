#include "paceline/cli/signal_watcher.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::cli {
namespace {

using std::chrono::hours;

/// In a process of its own, where no other thread may take the signal: waits for the end of the
/// time that a signal leaves. A test that waits for ever is ended by SIGALRM.
template <typename Send>
[[noreturn]] void end_when_the_time_is_over(std::chrono::milliseconds grace, const Send& send) {
  const SignalWatcher watcher(grace, /*is_under_slurm=*/false);
  alarm(20);
  send();
  const bool is_over = watcher.interruption().wait_until_over({});
  _exit(is_over ? watcher.interruption().signal().load() : 0);
}

void send_with_value(int milliseconds) {
  sigval value{};
  value.sival_int = milliseconds;
  sigqueue(getpid(), SIGTERM, value);
}

TEST(SignalWatcher, ASignalLeavesTheGracePeriod) {
  EXPECT_EXIT(
      end_when_the_time_is_over(std::chrono::milliseconds(1), [] { kill(getpid(), SIGTERM); }),
      ::testing::ExitedWithCode(SIGTERM), "");
}

TEST(SignalWatcher, ASignalThatTellsItsTimeLeavesThat) {
  EXPECT_EXIT(end_when_the_time_is_over(hours(1), [] { send_with_value(1); }),
              ::testing::ExitedWithCode(SIGTERM), "");
}

TEST(SignalWatcher, AValueThatIsNoTimeIsNotLookedAt) {
  EXPECT_EXIT(end_when_the_time_is_over(std::chrono::milliseconds(1), [] { send_with_value(0); }),
              ::testing::ExitedWithCode(SIGTERM), "");
}

}  // namespace
}  // namespace paceline::cli
