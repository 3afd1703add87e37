#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::data {

/// Draws numbers in proportion to weights in constant time, from two draws. Paper: Vose, "A linear
/// algorithm for generating random numbers with a given distribution", IEEE TSE 1991.
class AliasTable {
 public:
  /// Weights are not negative, and not all zero.
  explicit AliasTable(std::span<const double> weights);

  std::int64_t size() const { return std::ssize(aliases_); }
  /// For `column` drawn from [0, size()) and `uniform` from [0, 1).
  std::int64_t choose(std::int64_t column, double uniform) const {
    const auto at = static_cast<std::size_t>(column);
    return uniform < shares_[at] ? column : aliases_[at];
  }

 private:
  std::vector<double> shares_;         ///< of each column that are its own number's
  std::vector<std::int64_t> aliases_;  ///< whose the rest is
};

}  // namespace paceline::data
