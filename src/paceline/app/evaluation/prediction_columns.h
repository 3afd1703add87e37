#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace paceline::app {

/// The columns of a table of predictions, with so many classes of each sample.
inline std::vector<std::string> prediction_columns(std::int64_t num_told) {
  std::vector<std::string> names{"index", "sample", "label", "class", "loss"};
  for (std::int64_t k = 1; k <= num_told; ++k) {
    const std::string place = k == 1 ? "" : fmt::format("_{}", k);
    names.push_back("told" + place);
    names.push_back(fmt::format("told{}_class", place));
    names.push_back("probability" + place);
  }
  return names;
}

}  // namespace paceline::app
