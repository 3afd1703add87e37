#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace paceline::data {

/// What one of timm's texts such as "rand-m9-mstd0.5-inc1" says.
struct TimmPolicy {
  double magnitude = 10.0;   ///< m
  int num_ops = 2;           ///< n
  double probability = 0.5;  ///< p, of each operation
  double deviation = 0.0;    ///< mstd, of the magnitude; infinite: uniform from 0 to the magnitude
  double highest = 10.0;     ///< mmax
  bool increasing = false;   ///< inc
  std::string ops;           ///< t, the name of a set of operations; "": all

  static constexpr double kUniform = std::numeric_limits<double>::infinity();
};

/// Throws ConfigError that names the part which is wrong.
TimmPolicy parse_timm_policy(std::string_view text);

}  // namespace paceline::data
