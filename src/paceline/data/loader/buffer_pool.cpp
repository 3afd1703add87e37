#include "paceline/data/loader/buffer_pool.h"

#include "paceline/base/huge_pages.h"

#include <utility>

namespace paceline::data {

std::shared_ptr<void> allocate_host_memory(std::size_t size_bytes) {
  return base::allocate_huge_pages(size_bytes);
}

std::shared_ptr<BufferPool> BufferPool::make(HostAllocator allocator, std::size_t size_bytes) {
  if (!allocator) allocator = allocate_host_memory;
  return std::shared_ptr<BufferPool>(new BufferPool(std::move(allocator), size_bytes));
}

BufferPool::BufferPool(HostAllocator allocator, std::size_t size_bytes)
    : allocator_(std::move(allocator)), size_bytes_(size_bytes) {}

std::shared_ptr<void> BufferPool::take() {
  std::shared_ptr<void> memory;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(++num_allocated_);  // so that give_back cannot fail
    } else {
      memory = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!memory) memory = allocator_(size_bytes_);
  void* const start = memory.get();
  return {start, [pool = shared_from_this(), memory = std::move(memory)](void*) mutable {
            pool->give_back(std::move(memory));
          }};
}

void BufferPool::give_back(std::shared_ptr<void> memory) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(memory));
}

}  // namespace paceline::data
