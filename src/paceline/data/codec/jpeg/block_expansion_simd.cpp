// expand_blocks() in vector code: with a table of byte shuffles, or, where the processor can spread
// the bytes of a vector over the places of a mask (AVX-512 VBMI2), with one instruction a block.
#include "paceline/data/codec/jpeg/block_expansion.h"
#include "paceline/data/codec/jpeg/stored_format.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/codec/jpeg/block_expansion_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data::jpeg {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// Highway 1.0 knows this target but does not let the compiler use all of it.
#define PACELINE_VBMI2 __attribute__((target("avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))

/// The values of up to 64 nibbles, escapes filled in; advances both streams.
PACELINE_VBMI2 inline __m512i take_values(BlockStreams& streams, int count) {
  const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(streams.nibbles));
  const __m512i spread = _mm512_cvtepu8_epi16(pairs);
  const __m512i nibbles =
      _mm512_and_si512(_mm512_or_si512(spread, _mm512_slli_epi16(spread, 4)), _mm512_set1_epi8(15));
  const __mmask64 is_used = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(count));
  const __mmask64 is_escape = _mm512_mask_testn_epi8_mask(is_used, nibbles, nibbles);
  const __m512i escapes = _mm512_loadu_si512(streams.escapes);
  streams.nibbles += (count + 1) / 2;
  streams.escapes += _mm_popcnt_u64(is_escape);
  const __m512i values = _mm512_sub_epi8(nibbles, _mm512_set1_epi8(kLargestNibble + 1));
  return _mm512_mask_expand_epi8(values, is_escape, escapes);
}

/// Spreads the values of a block, without patches. False if its escapes end too early.
PACELINE_VBMI2 inline bool expand_block(BlockStreams& streams, std::uint64_t mask, int count,
                                        Block& target) {
  const __m512i by_rows = _mm512_maskz_expand_epi8(mask, take_values(streams, count));
  _mm512_storeu_si512(target.values, _mm512_cvtepi8_epi16(_mm512_castsi512_si256(by_rows)));
  _mm512_storeu_si512(target.values + kBlockSize / 2,
                      _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(by_rows, 1)));
  return streams.escapes <= streams.escapes_end;
}

#else

using RowShuffle = std::array<std::uint8_t, kBlockSide>;

/// For each mask of a row: which of the next values each place takes; 128 gives zero.
constexpr std::array<RowShuffle, 256> make_row_shuffles() {
  std::array<RowShuffle, 256> shuffles{};
  for (std::size_t mask = 0; mask < shuffles.size(); ++mask) {
    std::uint8_t next = 0;
    for (std::size_t place = 0; place < kBlockSide; ++place)
      shuffles[mask][place] = (mask >> place & 1) != 0 ? next++ : 128;
  }
  return shuffles;
}

alignas(64) constexpr std::array<RowShuffle, 256> kRowShuffles = make_row_shuffles();

/// Writes the values of up to 64 nibbles to `values`, escapes filled in; advances both streams.
/// False if the escapes end too early.
inline bool take_values(BlockStreams& streams, int count, std::int8_t* values) {
  std::uint64_t is_escape = 0;
  for (int i = 0; i < 2; ++i) {
    const __m128i pairs =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(streams.nibbles + std::ptrdiff_t{16} * i));
    const __m256i spread = _mm256_cvtepu8_epi16(pairs);
    const __m256i nibbles = _mm256_and_si256(_mm256_or_si256(spread, _mm256_slli_epi16(spread, 4)),
                                             _mm256_set1_epi8(15));
    const __m256i is_zero = _mm256_cmpeq_epi8(nibbles, _mm256_setzero_si256());
    is_escape |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(is_zero))} << 32 * i;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + std::ptrdiff_t{32} * i),
                        _mm256_sub_epi8(nibbles, _mm256_set1_epi8(kLargestNibble + 1)));
  }
  if (count < 64) is_escape &= (std::uint64_t{1} << count) - 1;
  streams.nibbles += (count + 1) / 2;
  const std::uint8_t* escapes = streams.escapes;
  streams.escapes += std::popcount(is_escape);
  if (streams.escapes > streams.escapes_end) return false;
  for (; is_escape != 0; is_escape &= is_escape - 1)
    values[std::countr_zero(is_escape)] = static_cast<std::int8_t>(*escapes++);
  return true;
}

/// Spreads the values of a block, without patches. False if its escapes end too early.
inline bool expand_block(BlockStreams& streams, std::uint64_t mask, int count, Block& target) {
  std::int8_t values[kBlockSize + kBlockSide];  // the last rows' reads may go beyond the values
  if (!take_values(streams, count, values)) return false;
  const std::int8_t* next = values;
  for (std::size_t row = 0; row < kBlockSide; ++row, mask >>= kBlockSide) {
    const RowShuffle& shuffle = kRowShuffles[mask & 255];
    const __m128i placed =
        _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(next)),
                         _mm_loadl_epi64(reinterpret_cast<const __m128i*>(shuffle.data())));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target.values + kBlockSide * row),
                     _mm_cvtepi8_epi16(placed));
    next += std::popcount(mask & 255);
  }
  return true;
}

#define PACELINE_VBMI2

#endif

PACELINE_VBMI2 bool expand_blocks_vectorised(BlockStreams& streams, int count, int& dc,
                                             Block* target, std::ptrdiff_t step) {
  BlockStreams own = streams;  // stays in registers
  int own_dc = dc;
  for (int i = 0; i < count; ++i, target += step) {
    const std::uint64_t mask = own.mask();
    const int num_values = std::popcount(mask);
    if (own.nibbles_end - own.nibbles < (num_values + 1) / 2) return false;
    if (!expand_block(own, mask, num_values, *target)) return false;
    if (own.has_patches() && !own.apply_patches(*target)) return false;
    own_dc += target->values[0];
    target->values[0] = static_cast<std::int16_t>(own_dc);
    target->end = static_cast<std::int16_t>(end_of_mask(mask));
    ++own.block;
  }
  streams = own;
  dc = own_dc;
  return true;
}

#undef PACELINE_VBMI2

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data::jpeg {

HWY_EXPORT(expand_blocks_vectorised);

bool expand_blocks(BlockStreams& streams, int count, int& dc, Block* target, std::ptrdiff_t step) {
  return HWY_DYNAMIC_DISPATCH(expand_blocks_vectorised)(streams, count, dc, target, step);
}

}  // namespace paceline::data::jpeg
#endif
