// norm_rows.h, gradients, in vector code, as norm_rows_simd.cpp.
#include "paceline/nn/norm_passes/norm_rows.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/nn/norm_passes/norm_gradient_rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/nn/norm_passes/norm_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {

struct AddPass {
  const float* added;
  float* values;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t /*at*/,
                      std::size_t /*channels*/) const {
    access.store(hn::Add(access.load(values + channel), access.load(added + channel)),
                 values + channel);
  }
};

template <Activation kActivation, bool kHasOutput, bool kKeeps>
struct GradientSumPass {
  NormGradient from;
  NormFactors factors;
  float* plain;
  float* products;
  float* inner;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t at,
                      std::size_t channels) const {
    const NormVector mean = access.load(factors.mean + channel);
    const NormVector scale = access.load(factors.scale + channel);
    const NormVector shift = access.load(factors.shift + channel);
    NormVector sum = access.load(plain + channel);
    NormVector product = access.load(products + channel);
    for (std::size_t row = 0; row < kRows; ++row, at += channels) {
      const NormVector x = access.load(from.x + at);
      NormVector normed;
      if constexpr (kHasOutput) {
        normed = access.load(from.output + at);  // of the same sign where the slope is not one
      } else {
        normed = hn::MulAdd(x, scale, shift);
      }
      const NormVector grad = times_slope<kActivation>(access.load(from.grad + at), normed);
      if constexpr (kKeeps) access.store(grad, inner + at);
      sum = hn::Add(sum, grad);
      product = hn::MulAdd(grad, hn::Sub(x, mean), product);
    }
    access.store(sum, plain + channel);
    access.store(product, products + channel);
  }
};

template <Activation kActivation>
struct GradientPass {
  const float* grad;
  const float* x;
  NormFactors factors;
  NormGradientMeans means;
  float* grad_x;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t at,
                      std::size_t channels) const {
    const NormVector mean = access.load(factors.mean + channel);
    const NormVector scale = access.load(factors.scale + channel);
    const NormVector shift = access.load(factors.shift + channel);
    const NormVector plain = access.load(means.plain + channel);
    const NormVector products = access.load(means.products + channel);
    for (std::size_t row = 0; row < kRows; ++row, at += channels) {
      const NormVector value = access.load(x + at);
      const NormVector rest = hn::MulAdd(hn::Sub(value, mean), products, plain);
      const NormVector inner =
          times_slope<kActivation>(access.load(grad + at), hn::MulAdd(value, scale, shift));
      access.store(hn::MulSub(inner, scale, rest), grad_x + at);
    }
  }
};

/// The sums of a stretch of rows are made first, then added to the rest.
struct GradientSums {
  NormGradient from;
  ChannelRows size;
  NormFactors factors;
  float* plain;
  float* products;
  float* inner;

  template <Activation kActivation>
  void run() const {
    if (from.output != nullptr) {
      inner != nullptr ? sum<kActivation, true, true>() : sum<kActivation, true, false>();
    } else {
      inner != nullptr ? sum<kActivation, false, true>() : sum<kActivation, false, false>();
    }
  }

  template <Activation kActivation, bool kHasOutput, bool kKeeps>
  void sum() const {
    const auto channels = static_cast<std::size_t>(size.channels);
    const ChannelRows one{1, size.channels};
    std::vector<float> found(2 * channels);
    const std::int64_t length = stretch_rows(size.channels);
    for (std::int64_t first = 0; first < size.rows; first += length) {
      const std::int64_t offset = first * size.channels;
      std::ranges::fill(found, 0.0f);
      const NormGradient here{from.grad + offset, from.x + offset,
                              kHasOutput ? from.output + offset : nullptr};
      for_rows({std::min(length, size.rows - first), size.channels},
               GradientSumPass<kActivation, kHasOutput, kKeeps>{here, factors, found.data(),
                                                                found.data() + channels,
                                                                kKeeps ? inner + offset : nullptr});
      for_rows(one, AddPass{found.data(), plain});
      for_rows(one, AddPass{found.data() + channels, products});
    }
  }
};

struct Gradient {
  const float* grad;
  const float* x;
  ChannelRows size;
  NormFactors factors;
  NormGradientMeans means;
  float* grad_x;

  template <Activation kActivation>
  void run() const {
    for_rows(size, GradientPass<kActivation>{grad, x, factors, means, grad_x});
  }
};

void norm_gradient_sums_vectorised(const NormGradient& from, const ChannelRows& size,
                                   const NormFactors& factors, Activation activation, float* plain,
                                   float* products, float* inner) {
  std::fill_n(plain, size.channels, 0.0f);
  std::fill_n(products, size.channels, 0.0f);
  with_activation(activation, GradientSums{from, size, factors, plain, products, inner});
}

void norm_gradient_vectorised(const float* grad, const float* x, const ChannelRows& size,
                              const NormFactors& factors, const NormGradientMeans& means,
                              Activation activation, float* grad_x) {
  with_activation(activation, Gradient{grad, x, size, factors, means, grad_x});
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::nn {

HWY_EXPORT(norm_gradient_sums_vectorised);
HWY_EXPORT(norm_gradient_vectorised);

void norm_gradient_sums(const NormGradient& from, const ChannelRows& size,
                        const NormFactors& factors, Activation activation, float* plain,
                        float* products, float* inner) {
  HWY_DYNAMIC_DISPATCH(norm_gradient_sums_vectorised)
  (from, size, factors, activation, plain, products, inner);
}

void norm_gradient(const float* grad, const float* x, const ChannelRows& size,
                   const NormFactors& factors, const NormGradientMeans& means,
                   Activation activation, float* grad_x) {
  HWY_DYNAMIC_DISPATCH(norm_gradient_vectorised)(grad, x, size, factors, means, activation, grad_x);
}

}  // namespace paceline::nn
#endif
