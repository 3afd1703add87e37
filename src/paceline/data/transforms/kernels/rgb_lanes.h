// Vector code over RGB pixels, for sources that Highway compiles once per instruction set; hence
// the guard, which such a source flips from one to the next.
#if defined(PACELINE_RGB_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef PACELINE_RGB_LANES
#undef PACELINE_RGB_LANES
#else
#define PACELINE_RGB_LANES
#endif

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>

#ifndef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#endif
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::ScalableTag<std::int16_t>;
using Words = hn::ScalableTag<std::int32_t>;
using Floats = hn::ScalableTag<float>;
using ByteVector = hn::Vec<Bytes>;
using ShortVector = hn::Vec<Shorts>;
using WordVector = hn::Vec<Words>;
using FloatVector = hn::Vec<Floats>;

/// Pixels that are worked on at once, one per 32-bit lane. Rows are read and written in whole
/// vectors: up to PixelBuffer::kPadding bytes beyond their last pixel.
constexpr int kPixels = static_cast<int>(hn::MaxLanes(Words()));

HWY_INLINE FloatVector all(float value) { return hn::Set(Floats(), value); }

/// Cut off, where Highway spends three operations on numbers that no integer holds.
HWY_INLINE WordVector cut_off(FloatVector value) {
#if HWY_TARGET == HWY_AVX2
  return WordVector{_mm256_cvttps_epi32(value.raw)};
#else
  return WordVector{_mm512_cvttps_epi32(value.raw)};
#endif
}

/// Clamps to 0 .. 255; in each block of 16 bytes those of `a` come before those of `b`.
HWY_INLINE ByteVector to_bytes(ShortVector a, ShortVector b) {
#if HWY_TARGET == HWY_AVX2
  return ByteVector{_mm256_packus_epi16(a.raw, b.raw)};
#else
  return ByteVector{_mm512_packus_epi16(a.raw, b.raw)};
#endif
}

// In each block of 16 bytes, where 0x80 gives zero:
/// The channels of four triples in the lowest bytes of 32-bit lanes.
alignas(16) constexpr std::uint8_t kChannels[3][16] = {
    {0, 0x80, 0x80, 0x80, 3, 0x80, 0x80, 0x80, 6, 0x80, 0x80, 0x80, 9, 0x80, 0x80, 0x80},
    {1, 0x80, 0x80, 0x80, 4, 0x80, 0x80, 0x80, 7, 0x80, 0x80, 0x80, 10, 0x80, 0x80, 0x80},
    {2, 0x80, 0x80, 0x80, 5, 0x80, 0x80, 0x80, 8, 0x80, 0x80, 0x80, 11, 0x80, 0x80, 0x80}};
/// And back.
alignas(16) constexpr std::uint8_t kTriplesOf[3][16] = {
    {0, 0x80, 0x80, 4, 0x80, 0x80, 8, 0x80, 0x80, 12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
    {0x80, 0, 0x80, 0x80, 4, 0x80, 0x80, 8, 0x80, 0x80, 12, 0x80, 0x80, 0x80, 0x80, 0x80},
    {0x80, 0x80, 0, 0x80, 0x80, 4, 0x80, 0x80, 8, 0x80, 0x80, 12, 0x80, 0x80, 0x80, 0x80}};
/// Four triples backwards.
alignas(16) constexpr std::uint8_t kReversedTriples[16] = {9, 10, 11, 6, 7,    8,    3,    4,
                                                           5, 0,  1,  2, 0x80, 0x80, 0x80, 0x80};
/// Four bytes of each channel to four triples.
alignas(16) constexpr std::uint8_t kTriplesOfRuns[16] = {0,  4, 8, 1,  5,    9,    2,    6,
                                                         10, 3, 7, 11, 0x80, 0x80, 0x80, 0x80};
/// 32-bit lanes: three of a row to the front of each block, and back.
alignas(64) constexpr std::int32_t kSpread[16] = {0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0};
alignas(64) constexpr std::int32_t kGather[16] = {0,  1,  2,  4,  5, 6, 8, 9,
                                                  10, 12, 13, 14, 0, 0, 0, 0};
alignas(32) constexpr std::int32_t kGatherTwo[8] = {0, 1, 2, 4, 5, 6, 0, 0};

HWY_INLINE ByteVector move_words(ByteVector bytes, const std::int32_t* order) {
  const Words words;
  return hn::BitCast(
      Bytes(), hn::TableLookupLanes(hn::BitCast(words, bytes), hn::SetTableIndices(words, order)));
}

/// A vector's width of bytes, of which those of kPixels pixels come to stand as four triples in
/// each block of 16.
HWY_INLINE ByteVector spread_triples(const std::uint8_t* pixels) {
  return move_words(hn::LoadU(Bytes(), pixels), kSpread);
}
/// And back; the bytes behind may be anything.
HWY_INLINE ByteVector pack_triples(ByteVector triples) {
  return move_words(triples, kPixels == 8 ? kGatherTwo : kGather);
}

/// The last pixel first.
HWY_INLINE ByteVector reversed_triples(ByteVector triples) {
  const Words words;
  const ByteVector order = hn::LoadDup128(Bytes(), kReversedTriples);
  const ByteVector reversed = hn::TableLookupBytesOr0(triples, order);
  return hn::BitCast(Bytes(), hn::ReverseBlocks(words, hn::BitCast(words, reversed)));
}

/// One channel of spread triples.
HWY_INLINE WordVector channel_words(ByteVector triples, int channel) {
  const ByteVector order = hn::LoadDup128(Bytes(), kChannels[channel]);
  return hn::BitCast(Words(), hn::TableLookupBytesOr0(triples, order));
}
HWY_INLINE FloatVector channel_of(ByteVector triples, int channel) {
  return hn::ConvertTo(Floats(), channel_words(triples, channel));
}

struct RgbVector {
  FloatVector red;
  FloatVector green;
  FloatVector blue;
};

HWY_INLINE RgbVector load_pixels(const std::uint8_t* pixels) {
  const ByteVector triples = spread_triples(pixels);
  return {channel_of(triples, 0), channel_of(triples, 1), channel_of(triples, 2)};
}

HWY_INLINE void store_triples(ByteVector triples, std::uint8_t* pixels) {
  hn::StoreU(pack_triples(triples), Bytes(), pixels);
}

/// Stores numbers clamped to 0 .. 255.
HWY_INLINE void store_clamped(WordVector red, WordVector green, WordVector blue,
                              std::uint8_t* pixels) {
  const Shorts shorts;
  const ByteVector runs =
      to_bytes(hn::ReorderDemote2To(shorts, red, green), hn::ReorderDemote2To(shorts, blue, blue));
  store_triples(hn::TableLookupBytesOr0(runs, hn::LoadDup128(Bytes(), kTriplesOfRuns)), pixels);
}

/// Stores the lowest byte of each lane.
HWY_INLINE void store_lowest(WordVector red, WordVector green, WordVector blue,
                             std::uint8_t* pixels) {
  const auto placed = [](WordVector words, int channel) HWY_ATTR {
    const ByteVector order = hn::LoadDup128(Bytes(), kTriplesOf[channel]);
    return hn::TableLookupBytesOr0(hn::BitCast(Bytes(), words), order);
  };
  store_triples(hn::Or(placed(red, 0), hn::Or(placed(green, 1), placed(blue, 2))), pixels);
}

/// The luma, exactly in 1/65536; to be cut off.
HWY_INLINE FloatVector luma_of(const RgbVector& rgb) {
  const FloatVector blue = hn::MulAdd(rgb.blue, all(7471.0f / 65536), all(0.5f));
  return hn::MulAdd(rgb.red, all(19595.0f / 65536),
                    hn::MulAdd(rgb.green, all(38470.0f / 65536), blue));
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#endif
