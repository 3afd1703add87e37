#include "paceline/launcher/children/taken_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

/// What is done about a signal, whatever started the tests.
class Disposition {
 public:
  Disposition(int signal, void (*wanted)(int))
      : signal_(signal), before_(std::signal(signal, wanted)) {}
  ~Disposition() { std::signal(signal_, before_); }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

TEST(TakenSignalsTest, WaitForWhoTakesThem) {
  const Disposition usual(SIGTERM, SIG_DFL);
  const TakenSignals signals;
  raise(SIGTERM);  // would end this program
  EXPECT_EQ(signals.take(), SIGTERM);
  EXPECT_EQ(signals.take_until(TakenSignals::Clock::now() + std::chrono::milliseconds(1)),
            std::nullopt);
}

TEST(TakenSignalsTest, WhatWasIgnoredStaysSo) {
  const Disposition ignored(SIGHUP, SIG_IGN);
  const Disposition usual(SIGINT, SIG_DFL);
  const TakenSignals signals;
  raise(SIGHUP);
  raise(SIGINT);
  EXPECT_EQ(signals.take(), SIGINT);
  EXPECT_EQ(signals.take_until(TakenSignals::Clock::now() + std::chrono::milliseconds(1)),
            std::nullopt);
}

}  // namespace
}  // namespace paceline::launcher
