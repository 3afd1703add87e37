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

/// A depthwise convolution's square kernel, padded by (size - 1) / 2.
struct DepthwiseKernel {
  std::int64_t size = 7;
  std::int64_t stride = 1;

  /// Those that depthwise_sums() is made for.
  bool has_sums() const {
    return (size == 3 || size == 5 || size == 7) && (stride == 1 || stride == 2);
  }
  /// The products of its weights, and the sum of the gradients alone.
  std::int64_t num_sums() const { return size * size + 1; }
  std::int64_t output_length(std::int64_t length) const { return (length - 1) / stride + 1; }
};

/// How many channels depthwise_sums() takes at once; it depends on the processor.
std::int64_t depthwise_block();

/// The sums over all pixels of `grad` times the input at each place of the kernel, of the channels
/// from `first_channel` on, depthwise_block() or what is left: what a depthwise convolution's
/// weights have as gradients. The input is of the grid. Writes kernel.num_sums() rows of
/// grid.channels columns, of which it touches its own.
void depthwise_sums(const float* grad, const float* input, const PixelGrid& grid,
                    const DepthwiseKernel& kernel, std::int64_t first_channel, float* sums);

}  // namespace paceline::nn
