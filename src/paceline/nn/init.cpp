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

void xavier_uniform(const at::Tensor& weight, const tensor::DrawKey& key) {
  const double bound = std::sqrt(6.0 / (fan_in(weight) + fan_out(weight)));
  tensor::fill_uniform(weight, -bound, bound, key);
}

void lecun_normal(const at::Tensor& weight, const tensor::DrawKey& key) {
  constexpr double kCutDeviation = 0.87962566103423978;  // of a standard normal cut at two
  const double stddev = std::sqrt(1.0 / fan_in(weight)) / kCutDeviation;
  tensor::fill_truncated_normal(weight, 0.0, stddev, -2.0 * stddev, 2.0 * stddev, key);
}

void constant(const at::Tensor& tensor, double value) {
  const at::NoGradGuard no_grad;
  tensor.fill_(value);
}

}  // namespace paceline::nn
