// point_tables.h's look-ups in vector code, compiled for several instruction sets by Highway; the
// best one that the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/point_tables.h"

#include <cstring>

#define HWY_WANT_AVX3_DL  // looks up 128 bytes at once
#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/point_tables_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using SignedBytes = hn::ScalableTag<std::int8_t>;
using ByteVector = hn::Vec<Bytes>;
constexpr std::ptrdiff_t kVectorBytes = hn::MaxLanes(Bytes());

#if HWY_TARGET == HWY_AVX3_DL

/// A table in four registers.
struct Lookup {
  ByteVector parts[4];

  HWY_INLINE explicit Lookup(const ByteTable& table) {
    for (int i = 0; i < 4; ++i) parts[i] = hn::LoadU(Bytes(), table.data() + i * kVectorBytes);
  }
  HWY_INLINE ByteVector operator()(ByteVector bytes) const {
    const ByteVector low{_mm512_permutex2var_epi8(parts[0].raw, bytes.raw, parts[1].raw)};
    const ByteVector high{_mm512_permutex2var_epi8(parts[2].raw, bytes.raw, parts[3].raw)};
    return ByteVector{_mm512_mask_mov_epi8(low.raw, _mm512_movepi8_mask(bytes.raw), high.raw)};
  }
};

#else

/// A table in 16 parts of 16 entries. A byte takes part in the look-ups of all parts up to its own,
/// so each part holds what it changes against the one before it.
struct Lookup {
  alignas(16) std::uint8_t changes[16][16];

  HWY_INLINE explicit Lookup(const ByteTable& table) {
    for (std::size_t part = 0; part < 16; ++part) {
      for (std::size_t i = 0; i < 16; ++i) {
        const std::uint8_t before = part % 8 == 0 ? std::uint8_t{0} : table[16 * part + i - 16];
        changes[part][i] = static_cast<std::uint8_t>(table[16 * part + i] ^ before);
      }
    }
  }
  /// Adds the look-ups of bytes 0 .. 127 in the parts from kPart to kEnd; others add 0. Indices
  /// below 0 give 0, of the others the instruction looks at the lowest four bits.
  template <int kPart, int kEnd>
  HWY_INLINE void add_parts(hn::Vec<SignedBytes> index, ByteVector& found) const {
    const ByteVector entries = hn::LoadDup128(Bytes(), changes[kPart]);
    found = hn::Xor(found, hn::TableLookupBytesOr0(entries, hn::BitCast(Bytes(), index)));
    if constexpr (kPart + 1 < kEnd) {
      const auto next = hn::SaturatedSub(index, hn::Set(SignedBytes(), 16));
      add_parts<kPart + 1, kEnd>(next, found);
    }
  }
  HWY_INLINE ByteVector operator()(ByteVector bytes) const {
    ByteVector found = hn::Zero(Bytes());
    add_parts<0, 8>(hn::BitCast(SignedBytes(), bytes), found);
    const ByteVector upper = hn::Xor(bytes, hn::Set(Bytes(), 0x80));
    add_parts<8, 16>(hn::BitCast(SignedBytes(), upper), found);
    return found;
  }
};

#endif

void look_up_alike(const PixelView& source, const ByteTable& table, std::uint8_t* target,
                   std::ptrdiff_t stride) {
  const Lookup lookup(table);
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * source.size.width;
  for (int y = 0; y < source.size.height; ++y) {
    for (std::ptrdiff_t i = 0; i < row_bytes; i += kVectorBytes) {
      hn::StoreU(lookup(hn::LoadU(Bytes(), source.row(y) + i)), Bytes(), target + y * stride + i);
    }
  }
}

#if HWY_TARGET == HWY_AVX3_DL

/// Three look-ups of every byte, of which a mask keeps the one of its channel.
void look_up_channels(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                      std::ptrdiff_t stride) {
  const Lookup red(tables[0]);
  const Lookup green(tables[1]);
  const Lookup blue(tables[2]);
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * source.size.width;
  constexpr std::uint64_t kEveryThird = 0x9249249249249249;
  for (int y = 0; y < source.size.height; ++y) {
    std::uint64_t is_green = kEveryThird << 1;
    std::uint64_t is_blue = kEveryThird << 2;
    for (std::ptrdiff_t i = 0; i < row_bytes; i += kVectorBytes) {
      const ByteVector bytes = hn::LoadU(Bytes(), source.row(y) + i);
      const __m512i reds_greens = _mm512_mask_mov_epi8(red(bytes).raw, is_green, green(bytes).raw);
      const ByteVector mixed{_mm512_mask_mov_epi8(reds_greens, is_blue, blue(bytes).raw)};
      hn::StoreU(mixed, Bytes(), target + y * stride + i);
      // 64 bytes further on each channel is found one byte earlier.
      const std::uint64_t is_red = ~(is_green | is_blue);
      is_blue = is_green;
      is_green = is_red;
    }
  }
}

#else

void look_up_channels(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                      std::ptrdiff_t stride) {
  const Lookup red(tables[0]);
  const Lookup green(tables[1]);
  const Lookup blue(tables[2]);
  const auto look_up = [&](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    ByteVector reds, greens, blues;
    hn::LoadInterleaved3(Bytes(), from, reds, greens, blues);
    hn::StoreInterleaved3(red(reds), green(greens), blue(blues), Bytes(), to);
  };
  for (int y = 0; y < source.size.height; ++y) {
    std::ptrdiff_t x = 0;
    for (; x + kVectorBytes <= source.size.width; x += kVectorBytes) {
      look_up(source.row(y) + 3 * x, target + y * stride + 3 * x);
    }
    if (x == source.size.width) continue;
    std::uint8_t rest[3 * kVectorBytes] = {};
    const auto rest_bytes = static_cast<std::size_t>(3 * (source.size.width - x));
    std::memcpy(rest, source.row(y) + 3 * x, rest_bytes);
    look_up(rest, rest);
    std::memcpy(target + y * stride + 3 * x, rest, rest_bytes);
  }
}

#endif

void apply_tables_vectorised(const PixelView& source, const PointTables& tables,
                             std::uint8_t* target, std::ptrdiff_t stride) {
  if (tables[0] == tables[1] && tables[1] == tables[2]) {
    look_up_alike(source, tables[0], target, stride);
  } else {
    look_up_channels(source, tables, target, stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(apply_tables_vectorised);

void apply_tables(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                  std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(apply_tables_vectorised)(source, tables, target, stride);
}

}  // namespace paceline::data
#endif
