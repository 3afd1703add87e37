#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

/// How durations are counted.
enum class TimeUnit { kEpoch, kBatch, kSample, kFraction, kSecond };

/// A typed length of training in Composer's notation: "90ep", "5000ba" (optimizer steps), "1.2e6sp"
/// (samples), "0.7dur" (share of the run), "2h30m" (wall clock).
struct Duration {
  double value = 0;
  TimeUnit unit = TimeUnit::kEpoch;

  /// Throws ConfigError that says what was expected.
  static Duration parse(std::string_view text);
  std::string to_string() const;  ///< parse() gives the same duration back
  bool operator==(const Duration&) const = default;
};

/// One or more durations, of which the one that comes first counts. In YAML a duration or a list.
struct DurationList {
  std::vector<Duration> any_of;
  bool operator==(const DurationList&) const = default;
};

/// The lengths by which durations become steps.
struct StepLengths {
  std::int64_t total_steps = 0;  ///< 0 while unknown: then "dur" is an error
  std::int64_t steps_per_epoch = 0;
  std::int64_t samples_per_step = 0;
};

/// The duration in optimizer steps, rounded up. Throws ConfigError for wall-clock durations, which
/// cannot be counted in steps.
std::int64_t to_steps(const Duration& duration, const StepLengths& lengths);

}  // namespace paceline::config
