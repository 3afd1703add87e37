#pragma once

#include "paceline/algorithms/microbatch/box.h"
#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::algorithms {

/// What is mixed into consecutive samples of a microbatch: what they are learnt as becomes
/// (1 - share) * own + share * partner's. Their images likewise, or within the box they become the
/// partner's, of which it is that share.
struct Mixture {
  double share = 0;
  std::vector<std::int64_t> partners;  ///< for each of the samples a row of the microbatch
  Box box = {};                        ///< of cutmix
};

/// What leaves a group as it is.
Mixture no_mixture(const SampleGroup& group);

/// The partners of all samples, one mixture after the other.
std::vector<std::int64_t> partner_rows(std::span<const Mixture> mixtures);

/// The rows of `values`, floating, mixed with those of `partners` (partner_rows(), beside the
/// values): two products and a sum, each rounded as the values are.
at::Tensor mix(const at::Tensor& values, const at::Tensor& partners,
               std::span<const Mixture> mixtures);

/// Copies of images [N, channels, height, width], in their layout, with the mixtures' boxes from
/// those of `partners`.
at::Tensor paste(const at::Tensor& images, const at::Tensor& partners,
                 std::span<const Mixture> mixtures);

}  // namespace paceline::algorithms
