#pragma once

#include <chrono>

namespace paceline::base {

/// Where code reads the time, so that tests can set it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since some fixed moment; never goes back.
  virtual double monotonic_s() const = 0;
  /// Seconds since the Unix epoch.
  virtual double wall_s() const = 0;
};

class SystemClock final : public Clock {
 public:
  double monotonic_s() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double wall_s() const override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace paceline::base
