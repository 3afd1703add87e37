#include "paceline/checkpoint/snapshot.h"

#include "paceline/checkpoint/bulk_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <sys/mman.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Large pages: the first copy into the memory takes half the time.
at::Tensor allocate(std::size_t bytes, bool is_pinned) {
  at::Tensor memory = at::empty({static_cast<std::int64_t>(bytes)},
                                at::TensorOptions(at::kByte).pinned_memory(is_pinned));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.mutable_data_ptr());
  const auto first = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const auto end = (begin + bytes) / kHugePageBytes * kHugePageBytes;
  // Only a hint: where the kernel does not take it, the pages are small.
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

std::size_t Snapshot::size_bytes(std::span<const StateShard> shards) {
  std::size_t size = 0;
  for (const StateShard& shard : shards) {
    if (shard.is_writer) size += aligned(shard.data.nbytes());
  }
  return size;
}

void Snapshot::get_memory(std::span<const StateShard> shards) {
  const std::size_t size = size_bytes(shards);
  const bool is_on_gpu = std::any_of(shards.begin(), shards.end(), [](const StateShard& shard) {
    return shard.is_writer && !shard.data.is_cpu();
  });
  if (memory_.defined() && memory_.nbytes() >= size) return;
  memory_.reset();  // before there is other memory
  memory_ = allocate(size, is_on_gpu);
}

void Snapshot::reserve(std::span<const StateShard> shards) {
  get_memory(shards);
  auto* bytes = static_cast<volatile char*>(memory_.mutable_data_ptr());
  for (std::size_t i = 0; i < memory_.nbytes(); i += kPageBytes) bytes[i] = 0;
}

std::vector<StateShard> Snapshot::take(std::span<const StateShard> shards) {
  const at::NoGradGuard no_grad;
  get_memory(shards);
  std::vector<StateShard> copies;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(copies),
               [](const StateShard& shard) { return shard.is_writer; });
  auto* place = static_cast<std::byte*>(memory_.mutable_data_ptr());
  BulkCopy copying;
  for (StateShard& shard : copies) {
    const at::Tensor original = shard.data.detach();
    const std::size_t bytes = original.nbytes();
    const auto options = at::TensorOptions(original.scalar_type());
    if (original.is_non_overlapping_and_dense()) {
      shard.data = at::from_blob(place, original.sizes(), original.strides(), options);
    } else {
      shard.data = at::from_blob(place, original.sizes(), options);
    }
    if (original.is_cpu() && original.is_non_overlapping_and_dense()) {
      copying.add(place, original.const_data_ptr(), bytes);
    } else {
      shard.data.copy_(original);
    }
    place += aligned(bytes);
  }
  copying.run();
  return copies;
}

}  // namespace paceline::checkpoint
