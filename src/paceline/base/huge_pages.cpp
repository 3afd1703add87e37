#include "paceline/base/huge_pages.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace paceline::base {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void ask_for_huge_pages(void* memory, std::size_t size_bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (begin + size_bytes) / kHugePage * kHugePage;
  if (first >= end) return;
  ::madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, MADV_HUGEPAGE);
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
