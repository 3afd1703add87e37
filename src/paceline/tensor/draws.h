#pragma once

#include "paceline/base/philox.h"
#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <vector>

namespace paceline::tensor {

/// Fills `tensor` (CPU, any floating dtype, logical row-major order) from one Philox stream per
/// tensor: what a tensor gets depends on its key and shape alone, not on strides, threads or
/// device. `index` tells tensors of one purpose apart; a module numbers its parameters in
/// registration order.
struct DrawKey {
  std::uint64_t seed = 0;
  base::DrawPurpose purpose = base::DrawPurpose::kInitialization;
  std::uint64_t group = 0;
  std::uint64_t index = 0;
};

void fill_uniform(const at::Tensor& tensor, double low, double high, const DrawKey& key);
void fill_normal(const at::Tensor& tensor, double mean, double stddev, const DrawKey& key);
/// Normal truncated to [low, high] by redrawing.
void fill_truncated_normal(const at::Tensor& tensor, double mean, double stddev, double low,
                           double high, const DrawKey& key);

/// For dropout: a tensor like `like`, drawn where that lies, whose slice i along dimension 0 is
/// drawn from the stream (seed, purpose, group, first_position + i), each element 1 with
/// probability `keep`, else 0.
at::Tensor keep_mask(const at::Tensor& like, double keep, const DrawKey& key,
                     std::int64_t first_position);

// Of samples, the slices of `like` along dimension 0, sample i from the stream of the key's index +
// i; drawn where `like` lies, the same numbers there as on the CPU.

/// A tensor like `like` of standard normal draws, each slice as fill_normal() fills it.
at::Tensor normal_samples(const at::Tensor& like, const DrawKey& key);
/// The first Philox::uniform() of each sample, float64 [samples].
at::Tensor uniform_samples(const at::Tensor& like, const DrawKey& key);

}  // namespace paceline::tensor
