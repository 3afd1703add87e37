#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace paceline::test {

/// Bytes with pages on both sides that end the process when they are touched. Only one end can lie
/// at such a page.
class GuardedBytes {
 public:
  enum class At { kFront, kBack };

  GuardedBytes(std::size_t count, At at) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (count + page - 1) / page * page;
    size_ = room + 2 * page;
    memory_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory_, MAP_FAILED);
    auto* const inside = static_cast<std::uint8_t*>(memory_) + page;
    EXPECT_EQ(mprotect(inside, room, PROT_READ | PROT_WRITE), 0);
    bytes_ = {inside + (at == At::kFront ? 0 : room - count), count};
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(memory_, size_); }

  std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  std::span<std::uint8_t> bytes_;
};

}  // namespace paceline::test
