#pragma once

#include <span>
#include <string>
#include <vector>

namespace paceline::launcher {

/// Where the values of a key come from.
enum class AxisKind {
  kList,     ///< a,b,c
  kUniform,  ///< uniform(LOW,HIGH): a number, each as likely
  kLog,      ///< log(LOW,HIGH): a number whose logarithm is drawn so
  kInt       ///< int(LOW,HIGH): a whole number, both ends included
};

/// A key that a sweep varies.
struct Axis {
  std::string key = {};   ///< as an override has it: "optimizer.lr", "+algorithms.mixup.alpha"
  std::string text = {};  ///< the values as they were written
  AxisKind kind = AxisKind::kList;
  std::vector<std::string> values = {};  ///< of a list: each is YAML in flow style
  double low = 0;                        ///< of a draw
  double high = 0;

  bool is_drawn() const { return kind != AxisKind::kList; }
};

struct SearchSpace {
  std::vector<Axis> axes = {};
  std::vector<std::string> fixed = {};  ///< overrides that are the same for all trials

  bool has_draws() const;
};

/// "optimizer.lr=0.1,0.2" and "optimizer.lr=log(1e-4,1e-1)" vary a key; any other override is
/// fixed. Commas in brackets, braces and quotes do not part values. Throws ConfigError for an empty
/// value, one that stands twice, a key that is varied twice, a draw that is none, and a secret,
/// which it does not repeat.
SearchSpace parse_search_space(std::span<const std::string> overrides);

}  // namespace paceline::launcher
