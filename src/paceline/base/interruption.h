#pragma once

#include "paceline/base/error.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <string_view>

namespace paceline::base {

/// A wait was given up because the process was asked to stop. The exit code is 128 + signal.
struct Interrupted : Error {
  Interrupted(int signal, std::string_view doing);
};

/// Whether this process was asked to stop, and how much time that leaves: made by the command line
/// and handed down to whatever may wait. Thread-safe.
///
/// Training goes on to the end of its step and saves. What has nothing to save (ranks that meet, a
/// pause before another try) ends as soon as is_requested(). Who waits for a peer may still be
/// part of that last step, and gives up when the time is_over().
class Interruption {
 public:
  using Clock = std::chrono::steady_clock;

  /// The first signal counts; of several times the shortest. Not for signal handlers.
  void request(int signal, Clock::duration time = Clock::duration::zero());

  /// 0, or the signal; for who looks once a step.
  const std::atomic<int>& signal() const { return signal_; }
  bool is_requested() const { return signal_.load(std::memory_order_relaxed) != 0; }
  /// Whether the process was asked to stop and the time that it was given has passed.
  bool is_over() const { return Clock::now() >= end_.load(std::memory_order_relaxed); }
  /// For waits on a condition: std::condition_variable_any::wait_for(lock, token(), ...).
  std::stop_token token() const { return source_.get_token(); }

  /// Blocks until the time is over, or `given_up`, and returns whether it is over.
  bool wait_until_over(const std::stop_token& given_up) const;

  /// Sleeps; ends early, with false, when the process is asked to stop.
  bool sleep_for(Clock::duration time) const;
  /// Throws Interrupted, which says what was being done ("waiting for ..."), if requested.
  void check(std::string_view doing) const;

 private:
  std::atomic<int> signal_{0};
  std::atomic<Clock::time_point> end_{Clock::time_point::max()};
  std::mutex mutex_;  ///< of changes
  std::stop_source source_;
};

}  // namespace paceline::base
