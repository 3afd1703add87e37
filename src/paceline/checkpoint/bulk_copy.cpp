#include "paceline/checkpoint/bulk_copy.h"

#include "paceline/base/parallel_for.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ATen/Parallel.h>
#include <emmintrin.h>

namespace paceline::checkpoint {
namespace {

constexpr std::size_t kLineBytes = 64;
/// What a thread copies at a time.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

}  // namespace

void BulkCopy::add(void* to, const void* from, std::size_t size) {
  for (std::size_t i = 0; i < size; i += kPieceBytes) {
    pieces_.push_back({static_cast<std::byte*>(to) + i, static_cast<const std::byte*>(from) + i,
                       std::min(kPieceBytes, size - i)});
  }
}

void BulkCopy::run() {
  // at::parallel_for would be a plain loop here: its threads are for sources compiled with OpenMP.
  base::parallel_for(std::ssize(pieces_), at::get_num_threads(), [&](std::int64_t i) {
    stream(pieces_[static_cast<std::size_t>(i)]);
    _mm_sfence();
  });
  pieces_.clear();
}

void BulkCopy::stream(Piece piece) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(piece.to) % kLineBytes;
  std::size_t i = std::min(piece.size, (kLineBytes - offset) % kLineBytes);
  std::memcpy(piece.to, piece.from, i);
  for (; i + kLineBytes <= piece.size; i += kLineBytes) {
    const auto* from = reinterpret_cast<const __m128i*>(piece.from + i);
    auto* to = reinterpret_cast<__m128i*>(piece.to + i);
    const __m128i line[4] = {_mm_loadu_si128(from), _mm_loadu_si128(from + 1),
                             _mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3)};
    for (int part = 0; part < 4; ++part) _mm_stream_si128(to + part, line[part]);
  }
  std::memcpy(piece.to + i, piece.from + i, piece.size - i);
}

}  // namespace paceline::checkpoint
