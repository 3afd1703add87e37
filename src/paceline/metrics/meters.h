#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace paceline::metrics {

/// Images and steps a second over the last steps.
class ThroughputMeter {
 public:
  /// `window` steps enter the rates.
  explicit ThroughputMeter(std::size_t window = 50) : marks_(window + 1) {}

  /// To be called at the end of each step; `now_s` comes from a steady clock.
  void add_step(double now_s, std::int64_t samples);
  /// Time in which no training was meant to happen (evaluation, saving).
  void exclude(double seconds) { excluded_s_ += seconds; }

  double samples_per_s() const;  ///< 0 until two steps are over
  double steps_per_s() const;

 private:
  struct Mark {
    double time_s = 0;  ///< without the excluded time
    std::int64_t samples = 0;
  };
  const Mark& newest() const { return marks_[(num_steps_ - 1) % marks_.size()]; }
  const Mark& oldest() const;

  std::vector<Mark> marks_;  ///< a ring
  std::size_t num_steps_ = 0;
  std::int64_t samples_ = 0;
  double excluded_s_ = 0;
};

/// What a step spends its time on.
enum class Phase { kDataWait, kForward, kBackward, kExposedCommunication, kOptimizer };
inline constexpr std::size_t kNumPhases = 5;

/// Attributes the time of a step to phases; a mark costs one reading of the steady clock.
class PhaseTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins a step: time from here on belongs to the next mark.
  void start() { last_ = Clock::now(); }
  /// The time since start() or the last mark was spent on `phase`.
  void mark(Phase phase) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<std::size_t>(phase)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  /// Moves time that a mark gave to `from`, for instance the part of backward spent on the network.
  void move(Phase from, Phase to, double seconds) {
    seconds_[static_cast<std::size_t>(from)] -= seconds;
    seconds_[static_cast<std::size_t>(to)] += seconds;
  }
  double seconds(Phase phase) const { return seconds_[static_cast<std::size_t>(phase)]; }
  /// Of all phases.
  double total_seconds() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }
  void reset() { seconds_ = {}; }

 private:
  std::array<double, kNumPhases> seconds_{};
  Clock::time_point last_ = Clock::now();
};

}  // namespace paceline::metrics
