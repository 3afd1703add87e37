#pragma once

#include "paceline/nn/activation.h"

#include <cstdint>

namespace paceline::nn {

// Passes of one thread over pixels for batch normalisation and an activation, in float32: rows of
// `channels` values, one after the other. A channel's sums over many rows are made of those of
// stretches, whose lengths depend on the number of channels alone.

struct ChannelRows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
};

/// What a channel's values are normalised by: (x - mean) * rstd * weight + bias, which is
/// x * scale + shift. [channels] each.
struct NormFactors {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
};

/// Whether the passes below know it.
constexpr bool has_norm_rows(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kSilu || activation == Activation::kHardswish;
}

/// The mean of each channel's x - shift and the sum of squared differences from it; [channels]
/// each. Of a shift that is among the values or near them, means far from zero lose no digits.
void norm_moments(const float* x, const float* shift, const ChannelRows& size, float* means,
                  float* squares);

/// output = activation(x * scale + shift + added); `added` may be null.
void norm_forward(const float* x, const float* added, const ChannelRows& size,
                  const NormFactors& factors, Activation activation, float* output);

/// What norm_gradient_sums() reads.
struct NormGradient {
  const float* grad = nullptr;    ///< of the output
  const float* x = nullptr;       ///< the input
  const float* output = nullptr;  ///< null where nothing was added: it is computed again
};

/// The gradient of what the activation saw, `grad` times the activation's slope, is summed, plain
/// and times (x - mean), [channels] each; `inner` gets it, or is null. Where something was added,
/// the activation is none or kRelu.
void norm_gradient_sums(const NormGradient& from, const ChannelRows& size,
                        const NormFactors& factors, Activation activation, float* plain,
                        float* products, float* inner);

/// What comes from the statistics, [channels] each.
struct NormGradientMeans {
  const float* plain = nullptr;
  const float* products = nullptr;
};

/// grad_x = scale * inner - means.plain - (x - mean) * means.products, where `inner` is `grad`
/// times the activation's slope at x; `grad` may be grad_x.
void norm_gradient(const float* grad, const float* x, const ChannelRows& size,
                   const NormFactors& factors, const NormGradientMeans& means,
                   Activation activation, float* grad_x);

}  // namespace paceline::nn
