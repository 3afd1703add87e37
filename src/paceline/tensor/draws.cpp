#include "paceline/tensor/draws.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

namespace paceline::tensor {
namespace {

/// Runs `draw` once per element in row-major order and copies the result into `tensor`.
template <typename Draw>
void fill(const at::Tensor& tensor, const DrawKey& key, Draw draw) {
  PACELINE_CHECK(tensor.is_floating_point(), "random fill wants a floating dtype");
  base::Philox philox(key.seed, key.purpose, key.group, key.index);
  const at::Tensor values = at::empty(tensor.sizes(), at::kDouble);
  double* out = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) out[i] = draw(philox);
  const at::NoGradGuard no_grad;
  tensor.copy_(values);
}

}  // namespace

void fill_uniform(const at::Tensor& tensor, double low, double high, const DrawKey& key) {
  fill(tensor, key, [=](base::Philox& philox) { return philox.uniform(low, high); });
}

void fill_normal(const at::Tensor& tensor, double mean, double stddev, const DrawKey& key) {
  fill(tensor, key, [=](base::Philox& philox) { return mean + stddev * philox.normal(); });
}

void fill_truncated_normal(const at::Tensor& tensor, double mean, double stddev, double low,
                           double high, const DrawKey& key) {
  fill(tensor, key, [=](base::Philox& philox) {
    double value = mean + stddev * philox.normal();
    while (value < low || value > high) value = mean + stddev * philox.normal();
    return value;
  });
}

at::Tensor keep_mask(const at::Tensor& like, double keep, const DrawKey& key,
                     std::int64_t first_position) {
  const at::Tensor values = at::empty(like.sizes(), at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  const std::int64_t samples = like.size(0);
  const std::int64_t stride = samples == 0 ? 0 : like.numel() / samples;
  for (std::int64_t i = 0; i < samples; ++i) {
    base::Philox philox(key.seed ^ (key.index << 40), key.purpose, key.group,
                        static_cast<std::uint64_t>(first_position + i));
    for (std::int64_t j = 0; j < stride; ++j) {
      out[i * stride + j] = philox.uniform() < keep ? 1.0f : 0.0f;
    }
  }
  return values.to(like.options());
}

}  // namespace paceline::tensor
