#pragma once

#include <cstddef>
#include <memory>

namespace paceline::base {

/// Asks for huge pages (2 MiB) wherever whole ones lie in this memory: going through it costs the
/// processor few look-ups in page tables, and the first use of it fewer faults. Only a hint: where
/// the kernel has none, ordinary pages do as well.
void ask_for_huge_pages(void* memory, std::size_t size_bytes);

/// Gives the whole pages in this memory, which is the process's alone, back to the system until it
/// is written again; they then hold zeros. Only a hint.
void release_pages(void* memory, std::size_t size_bytes);

/// Memory that is asked for so and begins with one. Less than a huge page is ordinary memory. Not
/// initialised; aligned to 64 bytes at least. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_huge_pages(std::size_t size_bytes);

}  // namespace paceline::base
