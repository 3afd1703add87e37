#include "paceline/nn/volume/number_embedding.h"

#include <cmath>

namespace paceline::nn {
namespace {

constexpr std::int64_t kNumFrequencies = 128;
constexpr double kLongestWave = 10'000;

}  // namespace

NumberEmbedding::NumberEmbedding(std::int64_t dim)
    : fc1_(register_module("fc1", std::make_shared<Linear>(2 * kNumFrequencies, dim))),
      fc2_(register_module("fc2", std::make_shared<Linear>(dim, dim))) {}

at::Tensor NumberEmbedding::forward(const at::Tensor& numbers, at::ScalarType dtype) const {
  const at::Tensor values = numbers.to(at::kDouble).unsqueeze(1);
  const at::Tensor frequencies =
      (at::arange(kNumFrequencies, values.options()) * (-std::log(kLongestWave) / kNumFrequencies))
          .exp();
  const at::Tensor angles = values * frequencies;
  const at::Tensor waves = at::cat({angles.cos(), angles.sin()}, 1).to(dtype);
  return fc2_->forward(at::silu(fc1_->forward(waves)));
}

void NumberEmbedding::count(LayerCosts& costs) const {
  fc1_->count(costs);
  fc2_->count(costs);
}

}  // namespace paceline::nn
