#pragma once

#include "paceline/base/philox.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paceline::algorithms {

/// Each order is as likely. Paper: Durstenfeld, "Algorithm 235: Random permutation", CACM 1964.
inline void shuffle(std::vector<std::int64_t>& numbers, base::Philox& draws) {
  for (std::size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[draws.below(i)]);
}

}  // namespace paceline::algorithms
