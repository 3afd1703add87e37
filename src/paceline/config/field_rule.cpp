#include "paceline/config/field_rule.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/duration.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace paceline::config {
namespace {

bool holds(const FieldRule& rule, double number) {
  switch (rule.kind) {
    case RuleKind::kAtLeast:
      return number >= rule.low;
    case RuleKind::kAtMost:
      return number <= rule.high;
    case RuleKind::kMoreThan:
      return number > rule.low;
    case RuleKind::kLessThan:
      return number < rule.high;
    case RuleKind::kInRange:
      return number >= rule.low && number <= rule.high;
    default:
      return true;
  }
}

// The number of a scalar or of a duration; a value without one passes every limit.
std::optional<double> number_of(const std::string& text) {
  if (text == ".inf" || text == "-.inf") {
    return text[0] == '-' ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  if (stop == end) return number;
  try {
    return Duration::parse(text).value;
  } catch (const base::ConfigError&) {
    return std::nullopt;
  }
}

constexpr std::size_t kLongestName = 200;  // of the 255 that file systems take; others are added

bool is_satisfied(const FieldRule& rule, const Node& scalar) {
  switch (rule.kind) {
    case RuleKind::kOneOf:
      return std::find(rule.choices.begin(), rule.choices.begin() + rule.num_choices,
                       scalar.text) != rule.choices.begin() + rule.num_choices;
    case RuleKind::kNotEmpty:
      return !scalar.text.empty();
    case RuleKind::kPlainName:
      return !scalar.text.empty() && scalar.text.find('/') == std::string::npos &&
             scalar.text != "." && scalar.text != ".." && scalar.text.size() <= kLongestName;
    default: {
      const std::optional<double> number = number_of(scalar.text);
      return !number || holds(rule, *number);
    }
  }
}

}  // namespace

std::string FieldRule::text() const {
  switch (kind) {
    case RuleKind::kAtLeast:
      return fmt::format("at least {}", low);
    case RuleKind::kAtMost:
      return fmt::format("at most {}", high);
    case RuleKind::kMoreThan:
      return fmt::format("more than {}", low);
    case RuleKind::kLessThan:
      return fmt::format("less than {}", high);
    case RuleKind::kInRange:
      return fmt::format("between {} and {}", low, high);
    case RuleKind::kOneOf:
      return fmt::format(
          "one of {}",
          fmt::join(choices.begin(), choices.begin() + static_cast<int>(num_choices), ", "));
    case RuleKind::kNotEmpty:
      return "not empty";
    case RuleKind::kPlainName:
      return fmt::format("a plain name without '/', of at most {} bytes", kLongestName);
    case RuleKind::kPath:
    case RuleKind::kRequired:
    case RuleKind::kMayChangeOnResume:
      break;
  }
  return {};
}

std::optional<std::string> FieldRule::violation(const Node& value) const {
  if (text().empty() || value.is_null()) return std::nullopt;
  const bool is_container = value.is_list() || value.is_map();
  if (kind == RuleKind::kNotEmpty && is_container) {
    if (!value.items.empty() || !value.entries.empty()) return std::nullopt;
    return "must not be empty";
  }
  for (const Node& item : value.items) {
    if (auto complaint = violation(item)) return complaint;
  }
  for (const MapEntry& entry : value.entries) {
    if (auto complaint = violation(entry.value)) return complaint;
  }
  if (is_container || is_satisfied(*this, value)) return std::nullopt;
  if (kind == RuleKind::kNotEmpty) return "must not be empty";
  return fmt::format("must be {}{}, got {}", text(),
                     reason.empty() ? "" : fmt::format(" ({})", reason), base::excerpt(value.text));
}

}  // namespace paceline::config
