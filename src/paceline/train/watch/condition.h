#pragma once

#include <map>
#include <string>
#include <string_view>

namespace paceline::train {

/// A comparison of one metric with a number: "val/top1 >= 0.78".
class Condition {
 public:
  /// Operators: >=, >, <=, <. Throws ConfigError that says what was expected.
  static Condition parse(std::string_view text);

  /// False while the metric is not there.
  bool holds(const std::map<std::string, double>& values) const;
  const std::string& metric() const { return metric_; }
  std::string to_string() const;

 private:
  std::string metric_;
  std::string operator_;
  double limit_ = 0;
};

}  // namespace paceline::train
