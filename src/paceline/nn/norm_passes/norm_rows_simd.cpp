// norm_rows.h, moments and results, in vector code, compiled for several instruction sets by
// Highway; the best one that the processor has is chosen at run time. A vector's lanes are
// channels, so every instruction set gives the same sums.
#include "paceline/nn/norm_passes/norm_rows.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/nn/norm_passes/norm_rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/nn/norm_passes/norm_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {

struct SumPass {
  const float* x;
  const float* shift;
  float* sums;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t at,
                      std::size_t channels) const {
    const NormVector origin = access.load(shift + channel);
    NormVector sum = access.load(sums + channel);
    for (std::size_t row = 0; row < kRows; ++row)
      sum = hn::Add(sum, hn::Sub(access.load(x + at + row * channels), origin));
    access.store(sum, sums + channel);
  }
};

struct SquarePass {
  const float* x;
  const float* shift;
  const float* means;
  float* sums;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t at,
                      std::size_t channels) const {
    const NormVector origin = access.load(shift + channel);
    const NormVector mean = access.load(means + channel);
    NormVector sum = access.load(sums + channel);
    for (std::size_t row = 0; row < kRows; ++row) {
      const NormVector value = hn::Sub(access.load(x + at + row * channels), origin);
      const NormVector apart = hn::Sub(value, mean);
      sum = hn::MulAdd(apart, apart, sum);
    }
    access.store(sum, sums + channel);
  }
};

/// Means and squares of some rows, to which those of others are added by the formula of Chan, Golub
/// and LeVeque (1983).
struct MergePass {
  const float* other_means;
  const float* other_squares;
  float weight;  ///< the other rows' share of all
  float count;   ///< of rows before
  float* means;
  float* squares;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t /*at*/,
                      std::size_t /*channels*/) const {
    const NormVector mean = access.load(means + channel);
    const NormVector apart = hn::Sub(access.load(other_means + channel), mean);
    const NormVector moved = hn::Mul(apart, all(weight));
    access.store(hn::Add(mean, moved), means + channel);
    const NormVector sum =
        hn::Add(access.load(squares + channel), access.load(other_squares + channel));
    access.store(hn::MulAdd(hn::Mul(apart, moved), all(count), sum), squares + channel);
  }
};

struct ScalePass {
  float factor;
  float* values;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t /*at*/,
                      std::size_t /*channels*/) const {
    access.store(hn::Mul(access.load(values + channel), all(factor)), values + channel);
  }
};

void norm_moments_vectorised(const float* x, const float* shift, const ChannelRows& size,
                             float* means, float* squares) {
  const auto channels = static_cast<std::size_t>(size.channels);
  const ChannelRows one{1, size.channels};
  std::vector<float> found(2 * channels);
  float* const stretch_means = found.data();
  float* const stretch_squares = found.data() + channels;
  std::fill_n(means, channels, 0.0f);
  std::fill_n(squares, channels, 0.0f);
  const std::int64_t length = stretch_rows(size.channels);
  for (std::int64_t first = 0; first < size.rows; first += length) {
    const ChannelRows stretch{std::min(length, size.rows - first), size.channels};
    const float* const from = x + first * size.channels;
    std::ranges::fill(found, 0.0f);
    for_rows(stretch, SumPass{from, shift, stretch_means});
    for_rows(one, ScalePass{1.0f / static_cast<float>(stretch.rows), stretch_means});
    for_rows(stretch, SquarePass{from, shift, stretch_means, stretch_squares});
    const float weight =
        static_cast<float>(stretch.rows) / static_cast<float>(first + stretch.rows);
    for_rows(one, MergePass{stretch_means, stretch_squares, weight, static_cast<float>(first),
                            means, squares});
  }
}

template <Activation kActivation, bool kAdds>
struct ForwardPass {
  const float* x;
  const float* added;
  NormFactors factors;
  float* output;

  template <int kRows, class Access>
  HWY_INLINE void run(const Access& access, std::size_t channel, std::size_t at,
                      std::size_t channels) const {
    const NormVector scale = access.load(factors.scale + channel);
    const NormVector shift = access.load(factors.shift + channel);
    for (std::size_t row = 0; row < kRows; ++row, at += channels) {
      NormVector value = hn::MulAdd(access.load(x + at), scale, shift);
      if constexpr (kAdds) value = hn::Add(value, access.load(added + at));
      access.store(activated<kActivation>(value), output + at);
    }
  }
};

struct Forward {
  const float* x;
  const float* added;
  ChannelRows size;
  NormFactors factors;
  float* output;

  template <Activation kActivation>
  void run() const {
    if (added != nullptr) {
      for_rows(size, ForwardPass<kActivation, true>{x, added, factors, output});
    } else {
      for_rows(size, ForwardPass<kActivation, false>{x, added, factors, output});
    }
  }
};

void norm_forward_vectorised(const float* x, const float* added, const ChannelRows& size,
                             const NormFactors& factors, Activation activation, float* output) {
  with_activation(activation, Forward{x, added, size, factors, output});
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::nn {

HWY_EXPORT(norm_moments_vectorised);
HWY_EXPORT(norm_forward_vectorised);

void norm_moments(const float* x, const float* shift, const ChannelRows& size, float* means,
                  float* squares) {
  HWY_DYNAMIC_DISPATCH(norm_moments_vectorised)(x, shift, size, means, squares);
}

void norm_forward(const float* x, const float* added, const ChannelRows& size,
                  const NormFactors& factors, Activation activation, float* output) {
  HWY_DYNAMIC_DISPATCH(norm_forward_vectorised)(x, added, size, factors, activation, output);
}

}  // namespace paceline::nn
#endif
