#pragma once

#include <cstddef>
#include <memory>

namespace paceline::base {

/// Memory whose whole huge pages (2 MiB) are asked for as such, so that going through it costs the
/// processor few look-ups in page tables; where the kernel has none, ordinary pages do as well.
/// Less than a huge page is ordinary memory. Not initialised; aligned to 64 bytes at least. Throws
/// std::bad_alloc.
std::shared_ptr<std::byte> allocate_huge_pages(std::size_t size_bytes);

}  // namespace paceline::base
