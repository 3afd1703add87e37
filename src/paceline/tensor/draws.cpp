#include "paceline/tensor/draws.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/normal_blocks.h"

#include <algorithm>
#include <array>
#include <limits>

namespace paceline::tensor {
namespace {

base::Philox stream_of(const DrawKey& key) { return {key.seed, key.purpose, key.group, key.index}; }

/// Fills `tensor` chunk by chunk: `draw(chunk, values)` makes kDrawChunk float values.
template <typename Draw>
void fill(const at::Tensor& tensor, Draw draw) {
  PACELINE_CHECK(tensor.is_floating_point(), "random fill wants a floating dtype");
  const at::Tensor values = at::empty(tensor.sizes(), at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  std::array<float, kDrawChunk> chunk;
  const auto count = static_cast<std::size_t>(values.numel());
  for (std::size_t begin = 0; begin < count; begin += kDrawChunk) {
    draw(static_cast<std::uint32_t>(begin / kDrawChunk), chunk.data());
    std::copy_n(chunk.data(), std::min(kDrawChunk, count - begin), out + begin);
  }
  const at::NoGradGuard no_grad;
  tensor.copy_(values);
}

}  // namespace

void fill_uniform(const at::Tensor& tensor, double low, double high, const DrawKey& key) {
  const base::Philox stream = stream_of(key);
  const auto offset = static_cast<float>(low);
  const auto width = static_cast<float>(high - low);
  fill(tensor, [&](std::uint32_t index, float* values) {
    uniform_chunk(stream, index, values);
    for (std::size_t i = 0; i < kDrawChunk; ++i) values[i] = offset + width * values[i];
  });
}

void fill_normal(const at::Tensor& tensor, double mean, double stddev, const DrawKey& key) {
  fill_truncated_normal(tensor, mean, stddev, -std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::infinity(), key);
}

void fill_truncated_normal(const at::Tensor& tensor, double mean, double stddev, double low,
                           double high, const DrawKey& key) {
  const base::Philox stream = stream_of(key);
  // What falls outside draws again from another stream, so that no other element moves.
  base::Philox again(key.seed ^ 0x7275636174656421ull, key.purpose, key.group, key.index);
  fill(tensor, [&](std::uint32_t index, float* values) {
    normal_chunk(stream, index, values);
    for (std::size_t i = 0; i < kDrawChunk; ++i) {
      double value = mean + stddev * static_cast<double>(values[i]);
      while (value < low || value > high) value = mean + stddev * again.normal();
      values[i] = static_cast<float>(value);
    }
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
