#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/comm/shm/shared_memory.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::comm {

/// Collectives between the ranks of one host through shared memory. Torch-free.
///
/// A tensor goes through in chunks that fit a core's cache. Of each chunk of an all_reduce a rank
/// sums its own segment. Sums are taken over the ranks in their order: the result has the same bits
/// on every rank and does not depend on timing. Ranks sleep while they wait (futex), since the
/// cores have training to do.
///
/// Every rank makes the same calls in the same order. They throw CommError when the ranks' calls
/// differ, a rank is gone, `timeout` passes without a sign from one, or stop() is called.
class ShmCollectives {
 public:
  enum class Element : std::uint8_t { kFloat32, kFloat64, kInt64 };

  static std::size_t bytes_needed(int world_size);

  /// Of one group, every rank's memory must be the same, of bytes_needed(world_size), and zero when
  /// the first rank starts, with every rank marked present.
  ShmCollectives(SharedMemory memory, int rank, int world_size);

  /// In place, over `numel` elements at `data`.
  void all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                  std::chrono::milliseconds timeout);
  /// Sums slices of `numel` elements: `output` receives this rank's, of `input` with one for each
  /// rank.
  void reduce_scatter(void* output, const void* input, std::int64_t numel, Element element,
                      std::chrono::milliseconds timeout);
  /// `output` receives the `bytes` at every rank's `input`, ordered by rank. The input may be its
  /// own place in the output.
  void all_gather(void* output, const void* input, std::int64_t bytes,
                  std::chrono::milliseconds timeout);

  /// Ends a call on another thread soon, and all later ones.
  void stop() { is_stopped_ = true; }

 private:
  struct Cell;
  class Waiter;
  template <typename T>
  void all_reduce_as(std::span<T> data, ReduceOp op, const Waiter& waiter);
  template <typename T>
  void reduce_scatter_as(T* output, const T* input, std::int64_t numel, const Waiter& waiter);
  void begin(std::uint64_t signature);
  /// Waits until this rank's buffer for the next chunk is free, lets `fill(chunk number)` fill it
  /// and tells the others.
  template <typename Fill>
  void lay_out(const Waiter& waiter, const Fill& fill);
  template <typename T>
  void fill_for_all_reduce(std::span<const T> chunk, std::uint32_t step);
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
  void meet(const Waiter& waiter, std::uint32_t step) const;

  SharedMemory memory_;
  int rank_;
  int world_size_;
  std::uint32_t copied_ = 0;      ///< chunks that this rank has laid out, over all calls
  std::uint64_t signature_ = 0;   ///< of the call at work
  std::uint32_t first_step_ = 1;  ///< of that call
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace paceline::comm
