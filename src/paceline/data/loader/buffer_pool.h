#pragma once

#include "paceline/data/loader/loader.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace paceline::data {

/// Heap memory aligned to 64 bytes: the allocator of a loader that was given none.
std::shared_ptr<void> allocate_host_memory(std::size_t size_bytes);

/// Buffers of one size that come back when their last reference goes, from whatever thread, and are
/// given out again: after a few batches the allocator is not called any more. Buffers may outlive
/// the pool's owner.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static std::shared_ptr<BufferPool> make(HostAllocator allocator, std::size_t size_bytes);

  /// A buffer with whatever its last user left in it.
  std::shared_ptr<void> take();

 private:
  BufferPool(HostAllocator allocator, std::size_t size_bytes);
  void give_back(std::shared_ptr<void> memory);

  const HostAllocator allocator_;
  const std::size_t size_bytes_;
  std::mutex mutex_;
  std::size_t num_allocated_ = 0;
  std::vector<std::shared_ptr<void>> free_;
};

}  // namespace paceline::data
