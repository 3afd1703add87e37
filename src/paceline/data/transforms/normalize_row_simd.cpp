// normalize_row.h in vector code, compiled for several instruction sets by Highway; the best
// one that the processor has is chosen at run time.
#include "paceline/data/transforms/normalize_row.h"

#include <algorithm>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/normalize_row_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/data/transforms/kernels/rgb_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {

/// NormalizeLanes for one vector.
struct Scale {
  FloatVector mean;
  FloatVector deviation;
  FloatVector inverse_deviation;

  HWY_INLINE FloatVector normalized(WordVector bytes) const {
    const FloatVector byte = hn::ConvertTo(Floats(), bytes);
    const FloatVector share = hn::MulAdd(byte, all(NormalizeLanes::kInverse255),
                                         hn::Mul(byte, all(NormalizeLanes::kInverse255Rest)));
    const FloatVector centered = hn::Sub(share, mean);
    const FloatVector near = hn::Mul(centered, inverse_deviation);
    return hn::MulAdd(hn::NegMulAdd(near, deviation, centered), inverse_deviation, near);
  }
};

template <bool kStreams>
HWY_INLINE void store(FloatVector values, float* target) {
  if constexpr (kStreams) {
    hn::Stream(values, Floats(), target);
  } else {
    hn::StoreU(values, Floats(), target);
  }
}

/// Whether a row may be written past the caches: a batch of large images is far larger than they
/// are, and to read its lines first, as common stores do, would take a quarter of all work on an
/// image. Only whole rows of whole vectors, as lines that are written in both ways cost far more.
bool may_stream(int count, const RowSink& sink) {
  const bool is_planar = sink.step == 1 || sink.step == -1;
  const std::ptrdiff_t before = sink.step < 0 ? (kPixels - 1) * sink.step : 0;
  const auto is_aligned = [&](const float* first) {
    return reinterpret_cast<std::uintptr_t>(first + before) % sizeof(float[kPixels]) == 0;
  };
  return sink.is_whole && count % kPixels == 0 && is_aligned(sink.channels[0]) &&
         (!is_planar || (is_aligned(sink.channels[1]) && is_aligned(sink.channels[2])));
}

/// Three planes.
template <bool kStreams>
struct PlaneWriter {
  Scale scales[3];

  HWY_INLINE explicit PlaneWriter(const NormalizeLanes& lanes) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      scales[channel] = {all(lanes.mean[channel]), all(lanes.deviation[channel]),
                         all(lanes.inverse_deviation[channel])};
    }
  }
  /// Reads a vector's width of bytes.
  HWY_INLINE void operator()(const std::uint8_t* pixels, const RowSink& sink,
                             std::ptrdiff_t first) const {
    const ByteVector triples = spread_triples(pixels);
    for (int channel = 0; channel < 3; ++channel) {
      store<kStreams>(scales[channel].normalized(channel_words(triples, channel)),
                      sink.channels[channel] + first);
    }
  }
};

/// Triples, which stay in their order: the channel changes from lane to lane.
template <bool kStreams>
struct TripleWriter {
  Scale scales[3];

  HWY_INLINE explicit TripleWriter(const NormalizeLanes& lanes) {
    for (std::size_t part = 0; part < 3; ++part) {
      const std::size_t first = part * kPixels;
      scales[part] = {hn::LoadU(Floats(), &lanes.mean[first]),
                      hn::LoadU(Floats(), &lanes.deviation[first]),
                      hn::LoadU(Floats(), &lanes.inverse_deviation[first])};
    }
  }
  HWY_INLINE void operator()(const std::uint8_t* pixels, const RowSink& sink,
                             std::ptrdiff_t first) const {
    const hn::Rebind<std::uint8_t, Words> bytes;
    for (std::ptrdiff_t part = 0; part < 3; ++part) {
      const WordVector words = hn::PromoteTo(Words(), hn::LoadU(bytes, pixels + part * kPixels));
      store<kStreams>(scales[part].normalized(words),
                      sink.channels[0] + 3 * first + part * kPixels);
    }
  }
};

template <class Writer>
void normalize_row_with(const Writer& write, const std::uint8_t* pixels, int count,
                        const RowSink& sink) {
  std::uint8_t copy[4 * kPixels] = {};
  // The last pixels overlap those before.
  const std::ptrdiff_t last = count - kPixels;
  for (std::ptrdiff_t x = 0;; x = std::min(x + kPixels, last)) {
    const std::uint8_t* from = pixels + 3 * x;
    const bool fits = 3 * (last - x) >= kPixels;  // a vector reads 4 * kPixels bytes
    if (!fits) from = static_cast<std::uint8_t*>(std::memcpy(copy, from, std::size_t{3} * kPixels));
    if (sink.step > 0) {
      write(from, sink, x);
    } else {
      hn::StoreU(pack_triples(reversed_triples(spread_triples(from))), Bytes(), copy);
      write(copy, sink, -(x + kPixels - 1));
    }
    if (x == last) break;
  }
}

template <bool kStreams>
void normalize_row_by(const std::uint8_t* pixels, int count, const NormalizeLanes& lanes,
                      const RowSink& sink) {
  if (sink.step == 1 || sink.step == -1) {
    normalize_row_with(PlaneWriter<kStreams>(lanes), pixels, count, sink);
  } else {
    normalize_row_with(TripleWriter<kStreams>(lanes), pixels, count, sink);
  }
}

bool normalize_row_vectorised(const std::uint8_t* pixels, int count, const NormalizeLanes& lanes,
                              const RowSink& sink) {
  if (count < kPixels) return false;
  const auto normalize = may_stream(count, sink) ? normalize_row_by<true> : normalize_row_by<false>;
  normalize(pixels, count, lanes, sink);
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(normalize_row_vectorised);

bool normalize_row(const std::uint8_t* pixels, int count, const NormalizeLanes& lanes,
                   const RowSink& sink) {
  return HWY_DYNAMIC_DISPATCH(normalize_row_vectorised)(pixels, count, lanes, sink);
}

}  // namespace paceline::data
#endif
