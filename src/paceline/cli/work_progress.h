#pragma once

#include "paceline/base/progress_line.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace paceline::cli {

/// Tells how far long work is: done, rate and time left; several times a second on a terminal; in a
/// pipe at most ten lines, and none of work that is done at once. For one thread at a time.
class WorkProgress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `what` as in "images"; `pause`: the least between two lines in a pipe.
  explicit WorkProgress(std::string what, Clock::duration pause = std::chrono::seconds(2))
      : what_(std::move(what)), pause_(pause) {}
  void update(std::int64_t done, std::int64_t total);

 private:
  bool is_due(std::int64_t done, std::int64_t total, Clock::time_point now);

  std::string what_;
  Clock::duration pause_;
  base::ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::int64_t last_tenth_ = 0;
};

}  // namespace paceline::cli
