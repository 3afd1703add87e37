// mixture.h in vector code, compiled for several instruction sets by Highway; the best one that the
// processor has is chosen at run time.
#include "paceline/data/transforms/kernels/mixture.h"

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/mixture_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using MixedFloats = hn::ScalableTag<float>;
using MixedWords = hn::RebindToSigned<MixedFloats>;
using MixedBytes = hn::Rebind<std::uint8_t, MixedFloats>;

void add_bytes_vectorised(const std::uint8_t* bytes, std::size_t count, float share, float* sums) {
  const MixedFloats floats;
  const auto shares = hn::Set(floats, share);
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(floats)) {
    const auto words = hn::PromoteTo(MixedWords(), hn::LoadU(MixedBytes(), bytes + i));
    const auto product = hn::Mul(shares, hn::ConvertTo(floats, words));
    hn::StoreU(hn::Add(hn::LoadU(floats, sums + i), product), floats, sums + i);
  }
}

void cut_off_bytes_vectorised(const float* sums, std::size_t count, std::uint8_t* bytes) {
  const MixedFloats floats;
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(floats)) {
    const auto words = hn::ConvertTo(MixedWords(), hn::LoadU(floats, sums + i));
    hn::StoreU(hn::DemoteTo(MixedBytes(), words), MixedBytes(), bytes + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(add_bytes_vectorised);
HWY_EXPORT(cut_off_bytes_vectorised);

void add_bytes(const std::uint8_t* bytes, std::size_t count, float share, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_bytes_vectorised)(bytes, count, share, sums);
}

void cut_off_bytes(const float* sums, std::size_t count, std::uint8_t* bytes) {
  HWY_DYNAMIC_DISPATCH(cut_off_bytes_vectorised)(sums, count, bytes);
}

}  // namespace paceline::data
#endif
