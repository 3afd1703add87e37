#include "paceline/tensor/draws.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/normal_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <torch/library.h>

namespace paceline::tensor {
namespace {

base::Philox stream_of(const DrawKey& key) { return {key.seed, key.purpose, key.group, key.index}; }

/// A tensor's elements in the order of their draws, to be filled as float.
class FloatValues {
 public:
  explicit FloatValues(const at::Tensor& tensor) : tensor_(tensor) {
    PACELINE_CHECK(tensor.is_floating_point(), "random fill wants a floating dtype");
    const bool lies_so =
        tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
    values_ = lies_so ? tensor.detach() : at::empty(tensor.sizes(), at::kFloat);
  }

  float* data() { return values_.mutable_data_ptr<float>(); }
  std::size_t size() const { return static_cast<std::size_t>(values_.numel()); }

  /// To be called when all are filled.
  void finish() {
    if (values_.is_alias_of(tensor_)) return tensor_.unsafeGetTensorImpl()->bump_version();
    const at::NoGradGuard no_grad;
    tensor_.copy_(values_);
  }

 private:
  const at::Tensor& tensor_;
  at::Tensor values_;
};

/// Fills the values chunk by chunk, on this rank's threads: `draw(chunk, values)` makes kDrawChunk
/// of them.
template <typename Draw>
void fill(FloatValues& values, const Draw& draw) {
  float* const out = values.data();
  const std::size_t count = values.size();
  constexpr std::size_t kPiece = 64 * kDrawChunk;  // what is worth a thread
  const std::size_t pieces = (count + kPiece - 1) / kPiece;
  base::parallel_for(static_cast<std::int64_t>(pieces), at::get_num_threads(), [&](std::int64_t i) {
    std::array<float, kDrawChunk> chunk;
    const std::size_t first = static_cast<std::size_t>(i) * kPiece;
    for (std::size_t begin = first; begin < std::min(count, first + kPiece); begin += kDrawChunk) {
      draw(static_cast<std::uint32_t>(begin / kDrawChunk), chunk.data());
      std::copy_n(chunk.data(), std::min(kDrawChunk, count - begin), out + begin);
    }
  });
}

at::Tensor keep_mask_on_cpu(const at::Tensor& like, double keep, std::int64_t seed,
                            std::int64_t purpose, std::int64_t group, std::int64_t first_position) {
  const at::Tensor values = at::empty(like.sizes(), at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  const std::int64_t samples = like.size(0);
  const std::int64_t stride = samples == 0 ? 0 : like.numel() / samples;
  for (std::int64_t i = 0; i < samples; ++i) {
    base::Philox philox(static_cast<std::uint64_t>(seed), static_cast<base::DrawPurpose>(purpose),
                        static_cast<std::uint64_t>(group),
                        static_cast<std::uint64_t>(first_position + i));
    for (std::int64_t j = 0; j < stride; ++j) {
      out[i * stride + j] = philox.uniform() < keep ? 1.0f : 0.0f;
    }
  }
  return values.to(like.scalar_type());
}

DrawKey key_of_sample(std::int64_t seed, std::int64_t purpose, std::int64_t group,
                      std::int64_t position) {
  return {.seed = static_cast<std::uint64_t>(seed),
          .purpose = static_cast<base::DrawPurpose>(purpose),
          .group = static_cast<std::uint64_t>(group),
          .index = static_cast<std::uint64_t>(position)};
}

at::Tensor normal_samples_on_cpu(const at::Tensor& like, std::int64_t seed, std::int64_t purpose,
                                 std::int64_t group, std::int64_t first_position) {
  const at::Tensor values = at::empty(like.sizes(), like.options().requires_grad(false));
  for (std::int64_t i = 0; i < like.size(0); ++i)
    fill_normal(values[i], 0, 1, key_of_sample(seed, purpose, group, first_position + i));
  return values;
}

at::Tensor uniform_samples_on_cpu(const at::Tensor& like, std::int64_t seed, std::int64_t purpose,
                                  std::int64_t group, std::int64_t first_position) {
  const at::Tensor values = at::empty({like.size(0)}, at::kDouble);
  for (std::int64_t i = 0; i < like.size(0); ++i) {
    values.mutable_data_ptr<double>()[i] =
        stream_of(key_of_sample(seed, purpose, group, first_position + i)).uniform();
  }
  return values;
}

using SamplesOfKey = at::Tensor(const at::Tensor&, std::int64_t, std::int64_t, std::int64_t,
                                std::int64_t);

at::Tensor call_for_samples(const c10::TypedOperatorHandle<SamplesOfKey>& op,
                            const at::Tensor& like, const DrawKey& key) {
  return op.call(like, static_cast<std::int64_t>(key.seed), static_cast<std::int64_t>(key.purpose),
                 static_cast<std::int64_t>(key.group), static_cast<std::int64_t>(key.index));
}

TORCH_LIBRARY(paceline, library) {
  library.def(
      "keep_mask(Tensor like, float keep, int seed, int purpose, int group, int first_position) -> "
      "Tensor");
  library.def(
      "normal_samples(Tensor like, int seed, int purpose, int group, int first_position) -> "
      "Tensor");
  library.def(
      "uniform_samples(Tensor like, int seed, int purpose, int group, int first_position) -> "
      "Tensor");
}

TORCH_LIBRARY_IMPL(paceline, CPU, library) {
  library.impl("keep_mask", &keep_mask_on_cpu);
  library.impl("normal_samples", &normal_samples_on_cpu);
  library.impl("uniform_samples", &uniform_samples_on_cpu);
}

}  // namespace

void fill_uniform(const at::Tensor& tensor, double low, double high, const DrawKey& key) {
  const base::Philox stream = stream_of(key);
  const auto offset = static_cast<float>(low);
  const auto width = static_cast<float>(high - low);
  FloatValues values(tensor);
  fill(values, [&](std::uint32_t index, float* chunk) {
    uniform_chunk(stream, index, chunk);
    for (std::size_t i = 0; i < kDrawChunk; ++i) chunk[i] = offset + width * chunk[i];
  });
  values.finish();
}

void fill_normal(const at::Tensor& tensor, double mean, double stddev, const DrawKey& key) {
  fill_truncated_normal(tensor, mean, stddev, -std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::infinity(), key);
}

void fill_truncated_normal(const at::Tensor& tensor, double mean, double stddev, double low,
                           double high, const DrawKey& key) {
  const base::Philox stream = stream_of(key);
  constexpr float kOutside = std::numeric_limits<float>::quiet_NaN();
  FloatValues values(tensor);
  fill(values, [&](std::uint32_t index, float* chunk) {
    normal_chunk(stream, index, chunk);
    for (std::size_t i = 0; i < kDrawChunk; ++i) {
      const double value = mean + stddev * static_cast<double>(chunk[i]);
      chunk[i] = value < low || value > high ? kOutside : static_cast<float>(value);
    }
  });
  // What fell outside draws again from another stream, in order, so that no other element moves.
  if (std::isfinite(low) || std::isfinite(high)) {
    base::Philox again(key.seed ^ 0x7275636174656421ull, key.purpose, key.group, key.index);
    for (float& value : std::span(values.data(), values.size())) {
      if (!std::isnan(value)) continue;
      double drawn = 0;
      do drawn = mean + stddev * again.normal();
      while (drawn < low || drawn > high);
      value = static_cast<float>(drawn);
    }
  }
  values.finish();
}

at::Tensor keep_mask(const at::Tensor& like, double keep, const DrawKey& key,
                     std::int64_t first_position) {
  // By LibTorch's dispatcher, so that each kind of device may have a kernel of its own.
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("paceline::keep_mask", "")
                             .typed<decltype(keep_mask_on_cpu)>();
  const std::uint64_t seed = key.seed ^ (key.index << 40);
  return op.call(like, keep, static_cast<std::int64_t>(seed),
                 static_cast<std::int64_t>(key.purpose), static_cast<std::int64_t>(key.group),
                 first_position);
}

at::Tensor normal_samples(const at::Tensor& like, const DrawKey& key) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("paceline::normal_samples", "")
                             .typed<SamplesOfKey>();
  return call_for_samples(op, like.detach(), key);
}

at::Tensor uniform_samples(const at::Tensor& like, const DrawKey& key) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("paceline::uniform_samples", "")
                             .typed<SamplesOfKey>();
  return call_for_samples(op, like.detach(), key);
}

}  // namespace paceline::tensor
