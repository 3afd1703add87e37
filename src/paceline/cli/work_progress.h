#pragma once

#include "paceline/base/progress_line.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace paceline::cli {

/// Tells how far long work is: done, rate and time left; several times a second on a terminal, ten
/// lines in all in a pipe. For one thread at a time.
class WorkProgress {
 public:
  /// `what` as in "images".
  explicit WorkProgress(std::string what) : what_(std::move(what)) {}
  void update(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due(std::int64_t done, std::int64_t total, Clock::time_point now);

  std::string what_;
  base::ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::int64_t last_tenth_ = 0;
};

}  // namespace paceline::cli
