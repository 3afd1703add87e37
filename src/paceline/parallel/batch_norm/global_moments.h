#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/tensor/aten.h"

#include <optional>
#include <string_view>

namespace paceline::parallel {

/// Of the values that all ranks have together, in float64.
struct GlobalMoments {
  at::Tensor mean;        ///< [C]
  at::Tensor deviations;  ///< [C]: sums of squared deviations from the mean
  at::Tensor count;       ///< scalar: values per channel

  at::Tensor variance() const { return deviations / count; }
  at::Tensor unbiased_variance() const { return deviations / (count - 1); }
};

/// The moments of an input [N, C, H, W] of `norm` whose samples lie on all ranks of `communicator`:
/// the same on each of them, and but for the rounding of sums the same however the samples are
/// spread, also with none on some. Nothing if there are none at all. Every rank must call it; one
/// all_gather of 2 C + 1 numbers, which `label` names. Throws ConfigError when all together have
/// one value per channel.
std::optional<GlobalMoments> global_moments(const at::Tensor& input, const nn::BatchNorm2d& norm,
                                            comm::Communicator& communicator,
                                            std::string_view label);

/// `input` normalised by statistics [C] in the dtype of the norm's, then scaled and shifted by
/// `weight` and `bias`. No gradients.
at::Tensor normalise_by(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& variance, double eps);

}  // namespace paceline::parallel
