#include "paceline/base/huge_pages.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace paceline::base {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// For the whole pages of `page` bytes in this memory.
void advise(void* memory, std::size_t size_bytes, std::size_t page, int advice) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto first = (begin + page - 1) / page * page;
  const auto end = (begin + size_bytes) / page * page;
  if (first >= end) return;
  ::madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, advice);
}

}  // namespace

void ask_for_huge_pages(void* memory, std::size_t size_bytes) {
  advise(memory, size_bytes, kHugePage, MADV_HUGEPAGE);
}

void release_pages(void* memory, std::size_t size_bytes) {
  advise(memory, size_bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), MADV_DONTNEED);
}

std::shared_ptr<std::byte> allocate_huge_pages(std::size_t size_bytes) {
  constexpr std::size_t kCacheLine = 64;
  void* memory = nullptr;
  if (posix_memalign(&memory, size_bytes >= kHugePage ? kHugePage : kCacheLine, size_bytes) != 0)
    throw std::bad_alloc();
  ask_for_huge_pages(memory, size_bytes);
  return {static_cast<std::byte*>(memory), &std::free};
}

}  // namespace paceline::base
