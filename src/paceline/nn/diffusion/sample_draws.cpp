#include "paceline/nn/diffusion/sample_draws.h"

namespace paceline::nn {
namespace {

/// The streams of augmentations by another seed, so that none of theirs is among these.
tensor::DrawKey key_of(DiffusionDraw draw, const ForwardContext& context, std::int64_t sample,
                       std::uint64_t index) {
  constexpr std::uint64_t kDiffusionSeeds = 0x646966667573696full;
  return {.seed = context.seed ^ kDiffusionSeeds ^ (static_cast<std::uint64_t>(draw) << 32) ^
                  (index << 40),
          .purpose = base::DrawPurpose::kAugmentation,
          .group = static_cast<std::uint64_t>(context.step),
          .index = static_cast<std::uint64_t>(context.first_position + sample)};
}

}  // namespace

at::Tensor drawn_normals(const at::Tensor& samples, DiffusionDraw draw,
                         const ForwardContext& context, std::uint64_t index) {
  const at::Tensor values =
      at::empty(samples.sizes(), samples.options().device(at::kCPU).requires_grad(false));
  for (std::int64_t i = 0; i < samples.size(0); ++i)
    tensor::fill_normal(values[i], 0.0, 1.0, key_of(draw, context, i, index));
  return values.to(samples.device());
}

at::Tensor drawn_uniforms(std::int64_t count, DiffusionDraw draw, const ForwardContext& context,
                          std::uint64_t index) {
  const at::Tensor values = at::empty({count}, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i) {
    const tensor::DrawKey key = key_of(draw, context, i, index);
    base::Philox stream(key.seed, key.purpose, key.group, key.index);
    values.data_ptr<double>()[i] = stream.uniform();
  }
  return values;
}

}  // namespace paceline::nn
