#pragma once

#include "paceline/base/progress_line.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace paceline::pretrained {

/// Tells how far a download is: bytes, rate and time left; several times a second on a terminal; in
/// a pipe at most ten lines, and none of one that is done at once.
class TransferProgress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `size` in bytes, if it is known. What was there at the first call does not count as fast.
  TransferProgress(std::string name, std::optional<std::uint64_t> size)
      : name_(std::move(name)), size_(size) {}
  void update(std::uint64_t done);

 private:
  bool is_due(std::uint64_t done, Clock::time_point now);

  std::string name_;
  std::optional<std::uint64_t> size_;
  base::ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::optional<std::uint64_t> done_at_start_;
  std::uint64_t last_part_ = 0;
};

/// "12.0 MiB of 97.8 MiB, 5.1 MiB/s, 17 s left", after so many seconds for `num_new` bytes.
std::string progress_text(std::uint64_t done, std::optional<std::uint64_t> size,
                          std::uint64_t num_new, double seconds);

}  // namespace paceline::pretrained
