#pragma once

#include "paceline/base/clock.h"
#include "paceline/data/storage/storage.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace paceline::data {

/// Tells in the log how far a long listing of samples is: how many were found, and how fast. It
/// ends when the program is asked to stop. Thread-safe.
class ListingProgress {
 public:
  /// `place` is for people: what is listed. The storage must outlive it.
  ListingProgress(std::string place, const Storage& storage,
                  std::shared_ptr<const base::Clock> clock = std::make_shared<base::SystemClock>());

  /// Counts samples that were found. Throws Interrupted.
  void add(std::int64_t samples);

 private:
  const std::string place_;
  const Storage& storage_;
  const std::shared_ptr<const base::Clock> clock_;
  const double start_s_;
  std::atomic<std::int64_t> num_samples_ = 0;
  std::mutex mutex_;
  double told_s_;  ///< when the last line was written
};

}  // namespace paceline::data
