// Vector code over rows of channels, for sources that Highway compiles once per instruction set;
// hence the guard, which such a source flips from one to the next.
#if defined(PACELINE_NORM_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef PACELINE_NORM_LANES
#undef PACELINE_NORM_LANES
#else
#define PACELINE_NORM_LANES
#endif

#include "paceline/nn/norm_passes/norm_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#endif
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using NormTag = hn::ScalableTag<float>;
using NormVector = hn::Vec<NormTag>;

constexpr int kGroup = 4;  // rows that are handled together, channel by channel

/// How a vector of channels is reached, all of its lanes or, at a row's end, some.
struct WholeVector {
  HWY_INLINE NormVector load(const float* from) const { return hn::LoadU(NormTag(), from); }
  HWY_INLINE void store(NormVector value, float* to) const { hn::StoreU(value, NormTag(), to); }
};
struct PartOfVector {
  hn::Mask<NormTag> lanes;
  HWY_INLINE NormVector load(const float* from) const {
    return hn::MaskedLoad(lanes, NormTag(), from);
  }
  HWY_INLINE void store(NormVector value, float* to) const {
    hn::BlendedStore(value, lanes, NormTag(), to);
  }
};

/// Has `pass` handle kGroup rows at once, and what is left one by one, each by vectors of channels.
template <class Pass>
HWY_INLINE void for_rows(const ChannelRows& size, const Pass& pass) {
  const NormTag tag;
  const auto channels = static_cast<std::size_t>(size.channels);
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t whole = channels / lanes * lanes;
  const PartOfVector part{hn::FirstN(tag, channels - whole)};
  std::size_t offset = 0;
  std::int64_t row = 0;
  for (; row + kGroup <= size.rows; row += kGroup, offset += kGroup * channels) {
    for (std::size_t i = 0; i < whole; i += lanes)
      pass.template run<kGroup>(WholeVector(), i, offset + i, channels);
    if (whole < channels) pass.template run<kGroup>(part, whole, offset + whole, channels);
  }
  for (; row < size.rows; ++row, offset += channels) {
    for (std::size_t i = 0; i < whole; i += lanes)
      pass.template run<1>(WholeVector(), i, offset + i, channels);
    if (whole < channels) pass.template run<1>(part, whole, offset + whole, channels);
  }
}

/// So many rows that they stay in the nearest cache, and few enough for plain sums.
HWY_INLINE std::int64_t stretch_rows(std::int64_t channels) {
  constexpr std::int64_t kValues = 8192;
  return std::clamp<std::int64_t>(kValues / channels / kGroup * kGroup, kGroup, 64);
}

HWY_INLINE NormVector all(float value) { return hn::Set(NormTag(), value); }

HWY_INLINE NormVector sigmoid(NormVector x) {
  // Beyond 104 it is no exponential; that of 100 is infinite already.
  const NormVector power = hn::Exp(NormTag(), hn::Min(hn::Neg(x), all(100.0f)));
  return hn::Div(all(1.0f), hn::Add(all(1.0f), power));
}

template <Activation kActivation>
HWY_INLINE NormVector activated(NormVector x) {
  if constexpr (kActivation == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Lt(x, all(0.0f)), x);  // what is no number stays
  } else if constexpr (kActivation == Activation::kSilu) {
    return hn::Mul(x, sigmoid(x));
  } else if constexpr (kActivation == Activation::kHardswish) {
    const NormVector gate = hn::Clamp(hn::Add(x, all(3.0f)), all(0.0f), all(6.0f));
    return hn::Mul(x, hn::Mul(gate, all(1.0f / 6.0f)));
  } else {
    return x;
  }
}

/// `grad` times the activation's derivative at x.
template <Activation kActivation>
HWY_INLINE NormVector times_slope(NormVector grad, NormVector x) {
  if constexpr (kActivation == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Le(x, all(0.0f)), grad);
  } else if constexpr (kActivation == Activation::kSilu) {
    const NormVector gate = sigmoid(x);
    const NormVector rest = hn::Sub(all(1.0f), gate);
    return hn::Mul(grad, hn::MulAdd(hn::Mul(x, rest), gate, gate));
  } else if constexpr (kActivation == Activation::kHardswish) {
    const NormVector inside = hn::Mul(grad, hn::MulAdd(x, all(1.0f / 3.0f), all(0.5f)));
    const NormVector above = hn::IfThenElse(hn::Ge(x, all(3.0f)), grad, inside);
    return hn::IfThenZeroElse(hn::Le(x, all(-3.0f)), above);
  } else {
    return grad;
  }
}

/// Calls `work` with the activation as a constant.
template <class Work>
HWY_INLINE void with_activation(Activation activation, const Work& work) {
  using enum Activation;
  switch (activation) {
    case kRelu:
      return work.template run<kRelu>();
    case kSilu:
      return work.template run<kSilu>();
    case kHardswish:
      return work.template run<kHardswish>();
    default:
      return work.template run<kNone>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#endif
