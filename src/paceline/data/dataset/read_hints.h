#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <vector>

namespace paceline::data {

/// Hints that samples [begin, end) will be read.
inline void will_read_range(const Dataset& dataset, std::int64_t begin, std::int64_t end) {
  if (!dataset.reads_ahead()) return;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = begin; i < end; ++i) indices.push_back(i);
  dataset.will_read(indices);
}

}  // namespace paceline::data
