#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/comm/shm/shared_memory.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::comm {

/// All-reduce between the ranks of one host through shared memory. Torch-free.
///
/// A tensor goes through in chunks that fit a core's cache. Of each chunk a rank sums its own
/// segment, over the ranks in their order: the result has the same bits on every rank and does not
/// depend on timing. Ranks sleep while they wait (futex), since the cores have training to do.
class ShmAllReduce {
 public:
  enum class Element : std::uint8_t { kFloat32, kFloat64, kInt64 };

  static std::size_t bytes_needed(int world_size);

  /// Of one group, every rank's memory must be the same, of bytes_needed(world_size), and zero when
  /// the first rank starts, with every rank marked present.
  ShmAllReduce(SharedMemory memory, int rank, int world_size);

  /// In place, over `numel` elements at `data`. Every rank calls it, in the same order. Throws
  /// CommError when the ranks' calls differ, a rank is gone, `timeout` passes without a sign from
  /// one, or stop() is called.
  void run(void* data, std::int64_t numel, Element element, ReduceOp op,
           std::chrono::milliseconds timeout);

  /// Ends a run() on another thread soon, and all later ones.
  void stop() { is_stopped_ = true; }

 private:
  struct Cell;
  class Waiter;
  template <typename T>
  void run_as(std::span<T> data, ReduceOp op, std::uint64_t signature, const Waiter& waiter);
  template <typename T>
  void copy_in(std::span<const T> chunk);
  template <typename T>
  void reduce_segment(std::span<T> chunk, ReduceOp op, std::uint32_t step);
  template <typename T>
  void copy_out(std::span<T> chunk, std::uint32_t step);

  Cell& cell(int rank) const;
  template <typename T>
  T* slot(int rank, std::uint32_t step) const;
  /// Where the sums of a chunk are put together, segment by segment.
  template <typename T>
  T* result(std::uint32_t step) const {
    return slot<T>(world_size_, step);
  }
  void check_signatures(std::uint64_t own) const;

  SharedMemory memory_;
  int rank_;
  int world_size_;
  std::uint32_t copied_ = 0;  ///< chunks that this rank has laid out, over all runs
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace paceline::comm
