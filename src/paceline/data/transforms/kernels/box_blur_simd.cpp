// box_blur.h in vector code, compiled for several instruction sets by Highway; the best one that
// the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/box_blur.h"

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/box_blur_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using BoxWords = hn::ScalableTag<std::uint32_t>;
using BoxSigned = hn::RebindToSigned<BoxWords>;
using BoxBytes = hn::Rebind<std::uint8_t, BoxWords>;
using BoxVector = hn::Vec<BoxWords>;

HWY_INLINE BoxVector words_at(const std::uint8_t* bytes) {
  return hn::PromoteTo(BoxWords(), hn::LoadU(BoxBytes(), bytes));
}

void box_means_vectorised(std::span<const std::uint8_t* const> places, const BoxWeights& weights,
                          std::size_t count, std::uint8_t* target) {
  const BoxWords words;
  const BoxVector weight = hn::Set(words, weights.whole);
  const BoxVector fraction = hn::Set(words, weights.fraction);
  const BoxVector half = hn::Set(words, 1u << 23);
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(words)) {
    BoxVector whole = hn::Zero(words);
    for (const std::uint8_t* place : places.subspan(1, places.size() - 2))
      whole = hn::Add(whole, words_at(place + i));
    const BoxVector ends = hn::Add(words_at(places.front() + i), words_at(places.back() + i));
    const BoxVector sum = hn::Add(hn::Add(hn::Mul(whole, weight), hn::Mul(ends, fraction)), half);
    hn::StoreU(hn::DemoteTo(BoxBytes(), hn::BitCast(BoxSigned(), hn::ShiftRight<24>(sum))),
               BoxBytes(), target + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(box_means_vectorised);

void box_means(std::span<const std::uint8_t* const> places, const BoxWeights& weights,
               std::size_t count, std::uint8_t* target) {
  HWY_DYNAMIC_DISPATCH(box_means_vectorised)(places, weights, count, target);
}

}  // namespace paceline::data
#endif
