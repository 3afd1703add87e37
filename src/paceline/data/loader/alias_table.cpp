#include "paceline/data/loader/alias_table.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <numeric>

namespace paceline::data {

AliasTable::AliasTable(std::span<const double> weights)
    : shares_(weights.begin(), weights.end()), aliases_(weights.size()) {
  const auto heaviest = std::max_element(weights.begin(), weights.end()) - weights.begin();
  const double largest = weights.empty() ? 0 : weights[static_cast<std::size_t>(heaviest)];
  PACELINE_CHECK(largest > 0, "none of {} weights is above 0", weights.size());
  for (double& share : shares_) share /= largest;  // so that no sum overflows
  const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  std::iota(aliases_.begin(), aliases_.end(), std::int64_t{0});
  std::vector<std::int64_t> below;  // numbers whose share does not fill their column ...
  std::vector<std::int64_t> above;  // ... and those that have some to give away
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    shares_[i] *= static_cast<double>(weights.size()) / sum;
    (shares_[i] < 1 ? below : above).push_back(static_cast<std::int64_t>(i));
  }
  while (!below.empty() && !above.empty()) {
    const auto small = static_cast<std::size_t>(below.back());
    const auto large = static_cast<std::size_t>(above.back());
    below.pop_back();
    aliases_[small] = static_cast<std::int64_t>(large);
    shares_[large] -= 1 - shares_[small];
    if (shares_[large] >= 1) continue;
    above.pop_back();
    below.push_back(static_cast<std::int64_t>(large));
  }
  // Rounding leaves some; their columns are full but for the last bits, unless their weight is 0.
  for (const std::vector<std::int64_t>* left : {&below, &above}) {
    for (const std::int64_t number : *left) {
      const auto at = static_cast<std::size_t>(number);
      if (weights[at] > 0) shares_[at] = 1;
      if (weights[at] == 0) aliases_[at] = heaviest;
    }
  }
}

}  // namespace paceline::data
