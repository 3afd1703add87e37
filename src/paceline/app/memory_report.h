#pragma once

#include "paceline/app/memory_estimate.h"
#include "paceline/app/memory_fit.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// A table, a line each: a strategy is a row, what takes memory a column.
std::vector<std::string> memory_table(std::span<const MemoryEstimate> estimates);

/// One JSON object, in bytes: {"strategies": [{"strategy": "ddp", "ranks": 2, ...}]}.
std::string memory_json(std::span<const MemoryEstimate> estimates);

/// What phases need of a GPU: tables, a line each.
std::vector<std::string> fit_tables(std::span<const MemoryFit> fits, const MemoryDevice& device);

/// One JSON object, in bytes: {"device": {...}, "phases": [{"phase": "coarse", "total": 1, ...}]}.
std::string fit_json(std::span<const MemoryFit> fits, const MemoryDevice& device);

/// "activations 1.2 GiB, parameters 331.1 MiB, ...": the largest first, without what is 0.
std::string describe_parts(const MemoryEstimate& estimate);

}  // namespace paceline::app
