#include "paceline/comm/c10d/store_query.h"

#include <algorithm>
#include <span>

#include <c10/util/Exception.h>

namespace paceline::comm {
namespace {

/// Appends which of the keys, the first of which has the place `first`, are missing.
void append_missing(c10d::Store& store, std::span<const std::string> keys, std::size_t first,
                    std::vector<std::size_t>& missing) {
  if (keys.empty() || store.check({keys.begin(), keys.end()})) return;
  if (keys.size() == 1) {
    missing.push_back(first);
    return;
  }
  const std::size_t half = keys.size() / 2;
  append_missing(store, keys.first(half), first, missing);
  append_missing(store, keys.subspan(half), first + half, missing);
}

}  // namespace

bool await_key(c10d::Store& store, const std::string& key, std::chrono::milliseconds time) {
  try {
    store.wait({key}, std::max(time, std::chrono::milliseconds(1)));  // 0 would be for ever
    return true;
  } catch (const c10::DistStoreError&) {
    return false;  // a store that is lost throws DistNetworkError
  }
}

std::vector<std::size_t> missing_keys(c10d::Store& store, const std::vector<std::string>& keys) {
  std::vector<std::size_t> missing;
  append_missing(store, keys, 0, missing);
  return missing;
}

}  // namespace paceline::comm
