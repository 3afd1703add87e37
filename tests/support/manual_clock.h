#pragma once

#include "paceline/base/clock.h"

#include <atomic>

namespace paceline::test {

/// A clock that moves only when told.
class ManualClock final : public base::Clock {
 public:
  double monotonic_s() const override { return now_s_; }
  double wall_s() const override { return 1.7e9 + now_s_; }
  void advance(double seconds) { now_s_ = now_s_ + seconds; }

 private:
  std::atomic<double> now_s_ = 0;
};

}  // namespace paceline::test
