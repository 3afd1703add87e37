#pragma once

#include "paceline/nn/activation.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <vector>

namespace paceline::nn {

// What batch normalisation and the activation behind it need, in few passes over images. Images are
// float32, on the CPU and channels-last, [N, C, H, W], none of them empty. The numbers do not
// depend on the number of threads.

/// Of each channel's values.
struct BatchMoments {
  std::vector<double> means;
  std::vector<double> variances;  ///< biased
};

BatchMoments batch_moments(const at::Tensor& images);

/// Rows of a tensor of factors, [kNormFactors, C], float32.
enum NormFactor : std::int64_t {
  kNormMean,
  kNormRstd,   ///< 1 / sqrt(variance + eps)
  kNormScale,  ///< weight * rstd
  kNormShift,  ///< bias - mean * scale
  kNormFactors
};

/// activation(images * scale + shift + added), by one that has_norm_rows(); an undefined `added` is
/// nothing.
at::Tensor normalise_images(const at::Tensor& images, const at::Tensor& factors,
                            Activation activation, const at::Tensor& added);

struct NormGradients {
  at::Tensor images;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor inner;  ///< of what the activation saw, where `output` was given
};

/// From the gradient of the images' result, factors being those of their own moments. `output` is
/// that result where kRelu saw what something was added to, else undefined.
NormGradients normalise_images_backward(const at::Tensor& grad, const at::Tensor& images,
                                        const at::Tensor& output, const at::Tensor& factors,
                                        Activation activation);

}  // namespace paceline::nn
