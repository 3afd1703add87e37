#include "paceline/train/watch/condition.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <charconv>

namespace paceline::train {

Condition Condition::parse(std::string_view text) {
  const std::size_t at = text.find_first_of("<>");
  Condition condition;
  if (at != std::string_view::npos) {
    const std::size_t length = text.substr(at + 1).starts_with('=') ? 2 : 1;
    const std::string_view number = base::trim(text.substr(at + length));
    condition.metric_ = base::trim(text.substr(0, at));
    condition.operator_ = text.substr(at, length);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), condition.limit_);
    if (error == std::errc() && end == number.data() + number.size() &&
        !condition.metric_.empty()) {
      return condition;
    }
  }
  throw base::ConfigError(fmt::format(
      "'{}' is not a condition: expected METRIC >=|>|<=|< NUMBER, as in val/top1 >= 0.78", text));
}

bool Condition::holds(const std::map<std::string, double>& values) const {
  const auto found = values.find(metric_);
  if (found == values.end()) return false;
  const double value = found->second;
  if (operator_ == ">=") return value >= limit_;
  if (operator_ == ">") return value > limit_;
  if (operator_ == "<=") return value <= limit_;
  return value < limit_;
}

std::string Condition::to_string() const {
  return fmt::format("{} {} {}", metric_, operator_, limit_);
}

}  // namespace paceline::train
