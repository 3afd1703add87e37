#pragma once

#include <cstdint>

namespace paceline::nn {

/// Pixels one after the other, all channels of each: [samples, height, width, channels].
struct PixelGrid {
  std::int64_t samples = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

/// A depthwise convolution's kernel is of 7x7 pixels; padding 3 keeps the size.
inline constexpr std::int64_t kDepthwiseKernel = 7;
/// The products of its 49 weights, and the sum of the gradients alone.
inline constexpr std::int64_t kDepthwiseSums = kDepthwiseKernel * kDepthwiseKernel + 1;

/// How many channels depthwise_sums() takes at once; it depends on the processor.
std::int64_t depthwise_block();

/// The sums over all pixels of `grad` times the input at each place of the kernel, of the channels
/// from `first_channel` on, depthwise_block() or what is left: what a depthwise convolution's
/// weights have as gradients. Both are of the grid. Writes kDepthwiseSums rows of grid.channels
/// columns, of which it touches its own.
void depthwise_sums(const float* grad, const float* input, const PixelGrid& grid,
                    std::int64_t first_channel, float* sums);

}  // namespace paceline::nn
