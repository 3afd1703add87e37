#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// Waits, in one operation, until the key is in the store. False when it has not come within
/// `time`. Throws what the store throws when it fails.
bool await_key(c10d::Store& store, const std::string& key, std::chrono::milliseconds time);

/// Which of the keys are not in the store, by their place, in order. One operation when all are
/// there; for each that is missing some 2 log2(n), for neighbours fewer.
std::vector<std::size_t> missing_keys(c10d::Store& store, const std::vector<std::string>& keys);

}  // namespace paceline::comm
