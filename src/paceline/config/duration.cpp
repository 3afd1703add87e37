#include "paceline/config/duration.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace paceline::config {
namespace {

[[noreturn]] void fail(std::string_view text, std::string_view reason) {
  throw base::ConfigError(
      fmt::format("'{}' is not a duration: {}; write for example 90ep (epochs), 5000ba (optimizer "
                  "steps), 1.2e6sp (samples), 0.7dur (share of the run) or 2h30m (wall clock)",
                  base::excerpt(text), reason));
}

struct Part {
  double value = 0;
  std::string unit;
};

// "2h30m" is {2, h}, {30, m}; "1.2e6sp" is {1.2e6, sp}.
std::vector<Part> split_parts(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  if (text.size() > kLongest) fail(text, "it is too long");
  std::string rest = base::to_lower(base::trim(text));
  std::erase(rest, '_');
  std::vector<Part> parts;
  while (!rest.empty()) {
    Part part;
    const char* end = rest.data() + rest.size();
    const auto [after_number, error] = std::from_chars(rest.data(), end, part.value);
    if (error != std::errc{}) fail(text, "it does not start with a number");
    const char* after_unit =
        std::find_if_not(after_number, end, [](char c) { return c >= 'a' && c <= 'z'; });
    part.unit.assign(after_number, after_unit);
    rest.erase(0, static_cast<std::size_t>(after_unit - rest.data()));
    if (part.unit.empty()) {
      fail(text, rest.empty() ? "the unit is missing" : fmt::format("'{}' is not a unit", rest));
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) fail(text, "it is empty");
  return parts;
}

double seconds_per(std::string_view unit) {
  if (unit == "h") return 3600;
  if (unit == "m") return 60;
  if (unit == "s" || unit == "sec") return 1;
  return 0;
}

Duration wall_clock(std::string_view text, const std::vector<Part>& parts) {
  Duration duration{0, TimeUnit::kSecond};
  double previous = 1e9;
  for (const Part& part : parts) {
    const double scale = seconds_per(part.unit);
    if (scale == 0) fail(text, fmt::format("unknown unit '{}'", part.unit));
    if (scale >= previous) fail(text, "hours come before minutes and minutes before seconds");
    duration.value += part.value * scale;
    previous = scale;
  }
  return duration;
}

std::string_view unit_name(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kEpoch:
      return "ep";
    case TimeUnit::kBatch:
      return "ba";
    case TimeUnit::kSample:
      return "sp";
    case TimeUnit::kFraction:
      return "dur";
    case TimeUnit::kSecond:
      return "s";
  }
  return "";
}

/// More than any run has, and little enough to be counted in 64 bits.
double most_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kEpoch:
      return 1e6;
    case TimeUnit::kBatch:
      return 1e12;
    case TimeUnit::kSample:
      return 1e15;
    case TimeUnit::kFraction:
      return 1;
    case TimeUnit::kSecond:
      return 1e9;
  }
  return 0;
}

void check_value(std::string_view text, const Duration& duration) {
  if (!std::isfinite(duration.value) || duration.value < 0) fail(text, "it must be 0 or more");
  const bool is_counted = duration.unit == TimeUnit::kBatch || duration.unit == TimeUnit::kSample;
  if (is_counted && duration.value != std::floor(duration.value)) {
    fail(text, "steps and samples are whole numbers");
  }
  if (duration.unit == TimeUnit::kFraction && duration.value > 1) {
    fail(text, "a share of the run lies between 0 and 1");
  }
  if (duration.value > most_of(duration.unit)) {
    fail(text, fmt::format("no run has more than {:g}{}", most_of(duration.unit),
                           unit_name(duration.unit)));
  }
}

std::string format_wall_clock(double seconds) {
  if (seconds != std::floor(seconds) || seconds >= 1e9 || seconds == 0)
    return fmt::format("{}s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  std::string text;
  if (whole / 3600 > 0) text += fmt::format("{}h", whole / 3600);
  if (whole / 60 % 60 > 0) text += fmt::format("{}m", whole / 60 % 60);
  if (whole % 60 > 0) text += fmt::format("{}s", whole % 60);
  return text;
}

// Rounds up, but not for the last bits of a product such as 0.7 * 10.
std::int64_t ceil_steps(double steps) {
  return static_cast<std::int64_t>(std::ceil(steps - 1e-9 * std::max(1.0, std::abs(steps))));
}

}  // namespace

Duration Duration::parse(std::string_view text) {
  const std::vector<Part> parts = split_parts(text);
  Duration duration;
  duration.value = parts[0].value;
  const std::string& unit = parts[0].unit;
  if (unit == "ep") {
    duration.unit = TimeUnit::kEpoch;
  } else if (unit == "ba") {
    duration.unit = TimeUnit::kBatch;
  } else if (unit == "sp") {
    duration.unit = TimeUnit::kSample;
  } else if (unit == "dur") {
    duration.unit = TimeUnit::kFraction;
  } else {
    duration = wall_clock(text, parts);
  }
  if (parts.size() > 1 && duration.unit != TimeUnit::kSecond) fail(text, "only h, m and s combine");
  check_value(text, duration);
  return duration;
}

std::string Duration::to_string() const {
  if (unit == TimeUnit::kSecond) return format_wall_clock(value);
  return fmt::format("{}{}", value, unit_name(unit));
}

std::int64_t to_steps(const Duration& duration, const StepLengths& lengths) {
  switch (duration.unit) {
    case TimeUnit::kBatch:
      return ceil_steps(duration.value);
    case TimeUnit::kEpoch:
      PACELINE_CHECK(lengths.steps_per_epoch > 0, "steps_per_epoch is not known yet");
      return ceil_steps(duration.value * static_cast<double>(lengths.steps_per_epoch));
    case TimeUnit::kSample:
      PACELINE_CHECK(lengths.samples_per_step > 0, "samples_per_step is not known yet");
      return ceil_steps(duration.value / static_cast<double>(lengths.samples_per_step));
    case TimeUnit::kFraction:
      if (lengths.total_steps <= 0) {
        throw base::ConfigError(
            fmt::format("'{}' is a share of a run whose length is not known in steps: give "
                        "train.duration in ep, ba or "
                        "sp, or write this one in them",
                        duration.to_string()));
      }
      return ceil_steps(duration.value * static_cast<double>(lengths.total_steps));
    case TimeUnit::kSecond:
      break;
  }
  throw base::ConfigError(
      fmt::format("'{}' is wall-clock time, which cannot be counted in steps: it may only stop a "
                  "run; write it in ep, "
                  "ba, sp or dur",
                  duration.to_string()));
}

}  // namespace paceline::config
