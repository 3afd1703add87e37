#pragma once

#include "paceline/tensor/draws.h"
#include "paceline/tensor/torch.h"

namespace paceline::nn {

// How the references draw weights. Every function fills its tensor in place from the Philox stream
// of `key`, without recording a gradient. A weight is [out, in] or [out, in, height, width]; its
// fan-in is in * height * width, its fan-out out * height * width.

/// Normal with variance 2 / fan-out: torch's kaiming_normal_(mode="fan_out", nonlinearity="relu").
/// Paper: He et al., "Delving deep into rectifiers", 2015.
void kaiming_normal_fan_out(const at::Tensor& weight, const tensor::DrawKey& key);

/// Uniform in ±1/sqrt(fan-in): what torch.nn.Conv2d and torch.nn.Linear draw by default
/// (kaiming_uniform_ with a = sqrt(5)).
void default_weight(const at::Tensor& weight, const tensor::DrawKey& key);

/// The default bias beside `weight`: uniform in ±1/sqrt(fan-in of weight).
void default_bias(const at::Tensor& bias, const at::Tensor& weight, const tensor::DrawKey& key);

/// Normal with mean 0, redrawn outside [-2, 2] (absolute, as torch's and timm's trunc_normal_).
void truncated_normal(const at::Tensor& tensor, double stddev, const tensor::DrawKey& key);

/// Uniform in ±sqrt(6 / (fan-in + fan-out)): torch's xavier_uniform_. Paper: Glorot and Bengio,
/// "Understanding the difficulty of training deep feedforward neural networks", 2010.
void xavier_uniform(const at::Tensor& weight, const tensor::DrawKey& key);

/// Normal with variance 1 / fan-in after it was cut at two deviations: timm's lecun_normal_, JAX's
/// lecun_normal.
void lecun_normal(const at::Tensor& weight, const tensor::DrawKey& key);

/// The same value everywhere.
void constant(const at::Tensor& tensor, double value);

}  // namespace paceline::nn
