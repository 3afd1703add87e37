// expand_blocks() in vector code, where the processor can spread the bytes of a vector over the
// places of a mask (AVX-512 VBMI2).
#include "paceline/data/codec/jpeg/block_expansion.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/codec/jpeg/block_expansion_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data::jpeg {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3_DL

/// The values of up to 64 nibbles, escapes filled in; advances both streams.
HWY_INLINE __m512i take_values(BlockStreams& streams, int count) {
  const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(streams.nibbles));
  const __m512i spread = _mm512_cvtepu8_epi16(pairs);
  const __m512i nibbles =
      _mm512_and_si512(_mm512_or_si512(spread, _mm512_slli_epi16(spread, 4)), _mm512_set1_epi8(15));
  const __mmask64 is_used = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(count));
  const __mmask64 is_escape = _mm512_mask_testn_epi8_mask(is_used, nibbles, nibbles);
  const __m512i escapes = _mm512_loadu_si512(streams.escapes);
  streams.nibbles += (count + 1) / 2;
  streams.escapes += _mm_popcnt_u64(is_escape);
  return _mm512_mask_expand_epi8(_mm512_sub_epi8(nibbles, _mm512_set1_epi8(8)), is_escape, escapes);
}

HWY_INLINE bool expand_narrow(BlockStreams& streams, std::uint64_t mask, int& dc, Block& target) {
  const int count = static_cast<int>(_mm_popcnt_u64(mask));
  if (streams.nibbles_end - streams.nibbles < (count + 1) / 2) return false;
  const __m512i by_rows = _mm512_maskz_expand_epi8(mask, take_values(streams, count));
  if (streams.escapes > streams.escapes_end) return false;
  _mm512_storeu_si512(target.values, _mm512_cvtepi8_epi16(_mm512_castsi512_si256(by_rows)));
  _mm512_storeu_si512(target.values + 32,
                      _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(by_rows, 1)));
  dc += static_cast<std::int8_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(by_rows)));
  target.values[0] = static_cast<std::int16_t>(dc);
  target.end = static_cast<std::int16_t>(end_of_mask(mask));
  ++streams.block;
  return true;
}

bool expand_blocks_vectorised(BlockStreams& streams, int count, int& dc, Block* target,
                              std::ptrdiff_t step) {
  BlockStreams own = streams;  // stays in registers
  int own_dc = dc;
  for (int i = 0; i < count; ++i) {
    std::uint64_t mask = 0;
    std::memcpy(&mask, own.masks + 8 * own.block, sizeof mask);
    const bool is_wide = (own.wide_flags[own.block / 8] >> (own.block % 8) & 1) != 0;
    const bool is_sound = is_wide ? expand_blocks_plainly(own, 1, own_dc, target + i * step, 1)
                                  : expand_narrow(own, mask, own_dc, target[i * step]);
    if (!is_sound) return false;
  }
  streams = own;
  dc = own_dc;
  return true;
}

#else

bool expand_blocks_vectorised(BlockStreams& streams, int count, int& dc, Block* target,
                              std::ptrdiff_t step) {
  return expand_blocks_plainly(streams, count, dc, target, step);
}

#endif

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
