#pragma once

#include "paceline/tensor/aten.h"

namespace paceline::nn {

// What a norm over the pixels of each channel needs, in one pass over large tensors each. Pixels
// are [samples, pixels, channels], contiguous; the sums are float32's at least and do not depend on
// the number of threads.

struct ChannelSums {
  at::Tensor plain;     ///< of the first, [samples, channels]
  at::Tensor products;  ///< of both multiplied, [samples, channels]
};

/// Over the pixels of each sample.
ChannelSums channel_sums(const at::Tensor& x, const at::Tensor& other);

/// x = x * scale + other * other_scale; the scales are [samples, channels], of the type of
/// ChannelSums.
void scale_and_add(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& other,
                   const at::Tensor& other_scale);

}  // namespace paceline::nn
