#include "paceline/checkpoint/snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <ATen/Parallel.h>
#include <emmintrin.h>
#include <sys/mman.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

constexpr std::size_t kAlignment = 64;
/// What a thread copies at a time.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
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

struct Piece {
  std::byte* to;  ///< aligned to kAlignment
  const std::byte* from;
  std::size_t size;
};

/// memcpy past the caches: what is written is not read soon, and reading its lines first would cost
/// half as much again.
void stream(const Piece& piece) {
  std::size_t i = 0;
  for (; i + kAlignment <= piece.size; i += kAlignment) {
    const auto* from = reinterpret_cast<const __m128i*>(piece.from + i);
    auto* to = reinterpret_cast<__m128i*>(piece.to + i);
    const __m128i line[4] = {_mm_loadu_si128(from), _mm_loadu_si128(from + 1),
                             _mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3)};
    for (int part = 0; part < 4; ++part) _mm_stream_si128(to + part, line[part]);
  }
  std::memcpy(piece.to + i, piece.from + i, piece.size - i);
}

void add_pieces(std::byte* to, const std::byte* from, std::size_t size,
                std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < size; i += kPieceBytes) {
    pieces.push_back({to + i, from + i, std::min(kPieceBytes, size - i)});
  }
}

void copy(const std::vector<Piece>& pieces) {
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      stream(pieces[i]);
    }
    _mm_sfence();
  });
}

}  // namespace

void Snapshot::get_memory(std::span<const StateShard> shards) {
  std::size_t size = 0;
  bool is_on_gpu = false;
  for (const StateShard& shard : shards) {
    if (!shard.is_writer) continue;
    size += aligned(shard.data.nbytes());
    is_on_gpu = is_on_gpu || !shard.data.is_cpu();
  }
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
