#pragma once

#include "paceline/app/memory_estimate.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// A table, a line each: a strategy is a row, what takes memory a column.
std::vector<std::string> memory_table(std::span<const MemoryEstimate> estimates);

/// One JSON object, in bytes: {"strategies": [{"strategy": "ddp", "ranks": 2, ...}]}.
std::string memory_json(std::span<const MemoryEstimate> estimates);

/// "activations 1.2 GiB, parameters 331.1 MiB, ...": the largest first, without what is 0.
std::string describe_parts(const MemoryEstimate& estimate);

}  // namespace paceline::app
