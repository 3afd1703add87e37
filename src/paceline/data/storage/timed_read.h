#pragma once

#include "paceline/base/clock.h"
#include "paceline/data/storage/read_ahead.h"

namespace paceline::data {

/// Tells a read-ahead how long the read in its scope took.
class TimedRead {
 public:
  /// Nothing is timed where there is no read-ahead, or it is on already.
  explicit TimedRead(ReadAhead* ahead)
      : ahead_(ahead != nullptr && !ahead->is_on() ? ahead : nullptr),
        start_s_(ahead_ != nullptr ? base::SystemClock().monotonic_s() : 0) {}
  ~TimedRead() {
    if (ahead_ != nullptr) ahead_->note_read(base::SystemClock().monotonic_s() - start_s_);
  }
  TimedRead(const TimedRead&) = delete;
  TimedRead& operator=(const TimedRead&) = delete;

 private:
  ReadAhead* ahead_;
  double start_s_;
};

}  // namespace paceline::data
