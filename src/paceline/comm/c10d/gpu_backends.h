#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::comm {

/// The GPU backends of a run's group and of its parts on this rank. After a failure they end
/// together: a kernel that waits for a lost peer in one would keep NCCL from freeing another.
/// Thread-safe.
class GpuBackends {
 public:
  /// No call takes longer, whatever hangs in a backend.
  static constexpr std::chrono::seconds kLongestEnd{10};

  explicit GpuBackends(std::chrono::milliseconds longest_end = kLongestEnd)
      : longest_end_(longest_end) {}
  ~GpuBackends();
  GpuBackends(const GpuBackends&) = delete;
  GpuBackends& operator=(const GpuBackends&) = delete;

  void add(c10::intrusive_ptr<c10d::Backend> backend);
  bool empty() const;

  /// Ends what waits in them, on the GPU and on the host; they are useless then, and failure()
  /// says so before anything ends. A second call waits for the first. Never throws.
  void abort();

  /// Why what they compute cannot be trusted; empty while it can. They fail by themselves when a
  /// collective takes too long, or loses its connection.
  std::string failure() const;

 private:
  using Pointer = c10::intrusive_ptr<c10d::Backend>;

  std::chrono::milliseconds longest_end_;
  std::mutex abort_mutex_;    // held while they end
  mutable std::mutex mutex_;  // of what follows
  std::vector<Pointer> backends_;
  bool is_aborted_ = false;
};

}  // namespace paceline::comm
