#pragma once

#include <cstdint>
#include <functional>

namespace paceline::base {

/// Calls `work(i)` for every i in [0, count), on `num_threads` threads (0: as many as there are
/// cores), the caller's among them. The first exception stops the rest and is thrown here.
void parallel_for(std::int64_t count, int num_threads,
                  const std::function<void(std::int64_t)>& work);

}  // namespace paceline::base
