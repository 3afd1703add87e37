#pragma once

#include "paceline/base/clock.h"
#include "paceline/base/interruption.h"
#include "paceline/data/storage/storage.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace paceline::data {

/// How often and after what pauses a read is tried again.
struct RetryOptions {
  int retries = 6;
  double first_pause_s = 0.2;  ///< doubled from pause to pause
  double longest_pause_s = 20;
  /// Waits so many seconds.
  std::function<void(double seconds)> sleep = {};  ///< empty: the thread sleeps
  /// Ends a pause at once: what waits throws Interrupted then. nullptr: nothing does. Outlives the
  /// storage.
  const base::Interruption* interruption = nullptr;
};

/// What retrying came to, over all threads.
struct RetryCounts {
  std::atomic<std::int64_t> retries = 0;   ///< tries after a first one
  std::atomic<std::int64_t> given_up = 0;  ///< reads that failed for good after retries
};

/// Tries again what failed with a TransientError: opening, looking, listing and reading. Each pause
/// is drawn between half of its length and the whole, so that ranks do not come back together, and
/// is at least what the other side asks for, but never longer than the longest. The first retry of
/// a path is logged, the others only counted. After the last try it throws a DataError with the
/// path, the number of tries, the last cause and the cure. Other errors pass.
std::shared_ptr<const Storage> retry_transient_errors(std::shared_ptr<const Storage> storage,
                                                      const RetryOptions& options,
                                                      std::shared_ptr<RetryCounts> counts);

}  // namespace paceline::data
