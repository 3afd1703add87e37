#include "paceline/base/huge_pages.h"

#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace paceline::base {

std::shared_ptr<std::byte> allocate_huge_pages(std::size_t size_bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  constexpr std::size_t kCacheLine = 64;
  const std::size_t whole_pages = size_bytes / kHugePage * kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, whole_pages > 0 ? kHugePage : kCacheLine, size_bytes) != 0)
    throw std::bad_alloc();
  if (whole_pages > 0) madvise(memory, whole_pages, MADV_HUGEPAGE);  // a wish
  return {static_cast<std::byte*>(memory), &std::free};
}

}  // namespace paceline::base
