#include "paceline/data/loader/buffer_pool.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(BufferPool, GivesReturnedBuffersOutAgain) {
  int allocations = 0;
  const auto pool = BufferPool::make(
      [&](std::size_t size_bytes) {
        ++allocations;
        EXPECT_EQ(size_bytes, 1000u);
        return allocate_host_memory(size_bytes);
      },
      1000);
  auto first = pool->take();
  auto second = pool->take();
  EXPECT_NE(first, second);
  void* const address = first.get();
  first.reset();
  EXPECT_EQ(pool->take().get(), address);
  EXPECT_EQ(allocations, 2);
}

TEST(BufferPool, BuffersOutliveIt) {
  auto pool = BufferPool::make({}, 100);
  const auto buffer = pool->take();
  pool.reset();
  static_cast<char*>(buffer.get())[99] = 1;
}

TEST(BufferPool, AlignsTo64Bytes) {
  for (const std::size_t size : {0u, 1u, 64u, 100u}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocate_host_memory(size).get()) % 64, 0u);
  }
}

}  // namespace
}  // namespace paceline::data
