#include "paceline/base/interruption.h"

#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Interruption, NothingIsAskedAtFirst) {
  const Interruption interruption;
  EXPECT_FALSE(interruption.is_requested());
  EXPECT_FALSE(interruption.is_over());
  EXPECT_EQ(interruption.signal(), 0);
  EXPECT_NO_THROW(interruption.check("waiting"));
  EXPECT_TRUE(interruption.sleep_for(milliseconds(1)));
}

TEST(Interruption, EndsASleepOfAnotherThread) {
  Interruption interruption;
  bool slept_to_the_end = true;
  std::thread sleeper([&] { slept_to_the_end = interruption.sleep_for(hours(1)); });
  interruption.request(SIGTERM);
  sleeper.join();  // or the test never ends
  EXPECT_FALSE(slept_to_the_end);
  EXPECT_FALSE(interruption.sleep_for(hours(1)));
}

TEST(Interruption, TellsAWaitingThreadThatTheTimeIsOver) {
  Interruption interruption;
  bool is_over = false;
  std::thread waiting([&] { is_over = interruption.wait_until_over({}); });
  interruption.request(SIGUSR1, Interruption::Clock::duration::max());
  interruption.request(SIGTERM, milliseconds(1));
  waiting.join();  // or the test never ends
  EXPECT_TRUE(is_over);
  EXPECT_TRUE(interruption.wait_until_over({}));
}

TEST(Interruption, AWaitForItsEndCanBeGivenUpBeforeAndAfterTheSignal) {
  Interruption interruption;
  for (const bool is_asked : {false, true}) {
    if (is_asked) interruption.request(SIGTERM, hours(1));
    std::stop_source given_up;
    bool is_over = true;
    std::thread waiting([&] { is_over = interruption.wait_until_over(given_up.get_token()); });
    given_up.request_stop();
    waiting.join();
    EXPECT_FALSE(is_over);
  }
}

TEST(Interruption, TheFirstSignalCounts) {
  Interruption interruption;
  interruption.request(SIGUSR1, hours(1));
  interruption.request(SIGTERM, hours(1));
  EXPECT_EQ(interruption.signal(), SIGUSR1);
}

TEST(Interruption, IsOverWhenTheShortestTimeHasPassed) {
  Interruption interruption;
  interruption.request(SIGUSR1, Interruption::Clock::duration::max());
  EXPECT_TRUE(interruption.is_requested());
  EXPECT_FALSE(interruption.is_over());
  interruption.request(SIGTERM);
  EXPECT_TRUE(interruption.is_over());
  interruption.request(SIGTERM, hours(1));
  EXPECT_TRUE(interruption.is_over());
}

TEST(Interruption, SaysWhatWasGivenUp) {
  Interruption interruption;
  interruption.request(SIGTERM);
  try {
    interruption.check("waiting for rank 1");
    FAIL();
  } catch (const Interrupted& error) {
    EXPECT_STREQ(error.what(), "stopped by SIGTERM while waiting for rank 1");
    EXPECT_EQ(static_cast<int>(error.exit_code()), 128 + SIGTERM);
  }
}

TEST(Interruption, StopsWhoeverWaitsOnACondition) {
  Interruption interruption;
  bool was_stopped = false;
  const std::stop_callback told(interruption.token(), [&] { was_stopped = true; });
  interruption.request(SIGINT);
  EXPECT_TRUE(was_stopped);
}

}  // namespace
}  // namespace paceline::base
