#include "paceline/nn/init.h"

#include <cmath>

namespace paceline::nn {
namespace {

double fan_in(const at::Tensor& weight) {
  return static_cast<double>(weight.numel() / weight.size(0));
}

double fan_out(const at::Tensor& weight) {
  return static_cast<double>(weight.numel() / weight.size(1));
}

}  // namespace

void kaiming_normal_fan_out(const at::Tensor& weight, const tensor::DrawKey& key) {
  tensor::fill_normal(weight, 0.0, std::sqrt(2.0 / fan_out(weight)), key);
}

void default_weight(const at::Tensor& weight, const tensor::DrawKey& key) {
  const double bound = 1.0 / std::sqrt(fan_in(weight));
  tensor::fill_uniform(weight, -bound, bound, key);
}

void default_bias(const at::Tensor& bias, const at::Tensor& weight, const tensor::DrawKey& key) {
  const double bound = 1.0 / std::sqrt(fan_in(weight));
  tensor::fill_uniform(bias, -bound, bound, key);
}

void truncated_normal(const at::Tensor& tensor, double stddev, const tensor::DrawKey& key) {
  tensor::fill_truncated_normal(tensor, 0.0, stddev, -2.0, 2.0, key);
}

void constant(const at::Tensor& tensor, double value) {
  const at::NoGradGuard no_grad;
  tensor.fill_(value);
}

}  // namespace paceline::nn
