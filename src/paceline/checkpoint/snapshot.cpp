#include "paceline/checkpoint/snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ATen/Parallel.h>
#include <sys/mman.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

constexpr std::size_t kAlignment = 64;
/// What a thread copies at a time.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

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

struct Piece {
  void* to;
  const void* from;
  std::size_t size;
};

void add_pieces(std::byte* to, const std::byte* from, std::size_t size, std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < size; i += kPieceBytes) {
    pieces.push_back({to + i, from + i, std::min(kPieceBytes, size - i)});
  }
}

void copy(const std::vector<Piece>& pieces) {
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      std::memcpy(pieces[i].to, pieces[i].from, pieces[i].size);
    }
  });
}

}  // namespace

std::vector<StateShard> Snapshot::take(std::span<const StateShard> shards) {
  const at::NoGradGuard no_grad;
  std::vector<StateShard> copies;
  std::size_t size = 0;
  bool is_on_gpu = false;
  for (const StateShard& shard : shards) {
    if (!shard.is_writer) continue;
    copies.push_back(shard);
    size += aligned(shard.data.nbytes());
    is_on_gpu = is_on_gpu || !shard.data.is_cpu();
  }
  if (!memory_.defined() || memory_.nbytes() < size) memory_ = allocate(size, is_on_gpu);

  auto* place = static_cast<std::byte*>(memory_.mutable_data_ptr());
  std::vector<Piece> pieces;
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
      add_pieces(place, static_cast<const std::byte*>(original.const_data_ptr()), bytes, pieces);
    } else {
      shard.data.copy_(original);
    }
    place += aligned(bytes);
  }
  copy(pieces);
  return copies;
}

}  // namespace paceline::checkpoint
