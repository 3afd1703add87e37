#include "paceline/comm/deadline.h"

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

TEST(Within, GivesResultsPassesExceptionsAndLeavesLateCallsBehind) {
  EXPECT_EQ(within(std::chrono::minutes(1), [] { return 7; }), 7);
  EXPECT_THROW(within(std::chrono::minutes(1), []() -> int { throw std::runtime_error("x"); }),
               std::runtime_error);
  const auto release = std::make_shared<std::promise<void>>();
  const auto late = within(std::chrono::milliseconds(1), [waits = release->get_future().share()] {
    waits.wait();
    return 1;
  });
  EXPECT_EQ(late, std::nullopt);
  release->set_value();
}

TEST(UnlessInterrupted, GivesResultsAndPassesExceptions) {
  const base::Interruption interruption;
  for (const base::Interruption* given :
       {&interruption, static_cast<const base::Interruption*>(nullptr)}) {
    EXPECT_EQ(unless_interrupted(given, "waiting", [] { return 7; }), 7);
    EXPECT_THROW(
        unless_interrupted(given, "waiting", []() -> int { throw std::runtime_error("x"); }),
        std::runtime_error);
  }
}

TEST(UnlessInterrupted, LeavesACallBehind) {
  base::Interruption interruption;
  struct Call {
    std::promise<void> begins;
    std::promise<void> release;
    std::promise<void> ends;
  };
  const auto call = std::make_shared<Call>();  // which outlives its caller's wait
  const std::jthread interrupts([&] {
    call->begins.get_future().wait();  // it is at work when the signal comes
    interruption.request(15);
  });
  EXPECT_THROW(unless_interrupted(&interruption, "waiting",
                                  [call] {
                                    call->begins.set_value();
                                    call->release.get_future().wait();
                                    call->ends.set_value();
                                  }),
               base::Interrupted);
  call->release.set_value();
  call->ends.get_future().wait();
}

}  // namespace
}  // namespace paceline::comm
