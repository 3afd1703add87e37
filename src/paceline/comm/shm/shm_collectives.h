#pragma once

#include "paceline/comm/combine.h"
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
/// differ, a rank is gone or has given up, `timeout` passes without a sign from one, or stop() is
/// called.
class ShmCollectives {
 public:
  static constexpr std::size_t kChunkBytes = 1 << 20;  ///< that fit a core's cache
  static std::size_t bytes_needed(int world_size, std::size_t chunk_bytes = kChunkBytes);

  /// Of one group, every rank's memory must be the same, of bytes_needed(world_size, chunk_bytes),
  /// and zero when the first rank starts, with every rank marked present. Errors call the first
  /// rank `first_name` and count from there.
  ShmCollectives(SharedMemory memory, int rank, int world_size, int first_name = 0,
                 std::size_t chunk_bytes = kChunkBytes);

  /// In place, over `numel` elements at `data`.
  void all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                  std::chrono::milliseconds timeout);
  /// The same where not all ranks want the result: `output` is null on those that do not, and may
  /// be the input on others.
  void reduce(void* output, const void* input, std::int64_t numel, Element element, ReduceOp op,
              std::chrono::milliseconds timeout);
  /// Sums slices of `numel` elements: `output` receives this rank's, of `input` with one for each
  /// rank.
  void reduce_scatter(void* output, const void* input, std::int64_t numel, Element element,
                      std::chrono::milliseconds timeout);
  /// `output` receives the `bytes` at every rank's `input`, ordered by rank. The input may be its
  /// own place in the output.
  void all_gather(void* output, const void* input, std::int64_t bytes,
                  std::chrono::milliseconds timeout);

  /// Part of some bytes.
  struct Window {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  /// Of the `bytes` at the root's `source` (which others may leave null) this rank's `target`
  /// receives those in `wanted`. Nobody waits for ranks other than the root.
  void fetch(int root, const void* source, std::int64_t bytes, void* target, Window wanted,
             std::chrono::milliseconds timeout);

  /// Tells the other ranks that this one takes no further part, which ends their waits.
  void give_up() const;
  /// Ends a call on another thread soon, and all later ones.
  void stop() { is_stopped_ = true; }

 private:
  struct Cell;
  class Waiter;
  void reduce_bytes(void* output, const void* input, std::int64_t numel, Element element,
                    ReduceOp op, std::chrono::milliseconds timeout);
  template <typename T>
  void reduce_as(T* output, std::span<const T> input, ReduceOp op, const Waiter& waiter);
  template <typename T>
  void reduce_scatter_as(T* output, const T* input, std::int64_t numel, const Waiter& waiter);
  void begin(std::uint64_t signature);
  /// Waits until this rank's buffer for the next chunk is free, lets `fill(chunk number)` fill it
  /// and tells the others.
  template <typename Fill>
  void lay_out(const Waiter& waiter, const Fill& fill);
  template <typename T>
  void fill_for_reduce(std::span<const T> chunk, std::uint32_t step);
  template <typename T>
  void reduce_segment(T* output, std::span<const T> chunk, ReduceOp op, std::uint32_t step);
  template <typename T>
  void copy_out(T* output, std::int64_t numel, std::uint32_t step);

  int name_of(int rank) const { return first_name_ + rank; }
  Cell& cell(int rank) const;
  template <typename T>
  T* slot(int rank, std::uint32_t step) const;
  /// Where the sums of a chunk are put together, segment by segment.
  template <typename T>
  T* result(std::uint32_t step) const {
    return slot<T>(world_size_, step);
  }
  void check_signature(int rank, std::uint32_t step) const;
  void meet(const Waiter& waiter, std::uint32_t step) const;

  SharedMemory memory_;
  int rank_;
  int world_size_;
  int first_name_;
  std::size_t chunk_bytes_;
  std::uint32_t copied_ = 0;      ///< chunks that this rank has laid out, over all calls
  std::uint64_t signature_ = 0;   ///< of the call at work
  std::uint32_t first_step_ = 1;  ///< of that call
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace paceline::comm
