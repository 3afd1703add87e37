#include "paceline/nn/diffusion/sample_draws.h"

namespace paceline::nn {
namespace {

/// Of the first sample. The streams of augmentations by another seed, so that none of theirs is
/// among these.
tensor::DrawKey key_of(DiffusionDraw draw, const ForwardContext& context, std::uint64_t index) {
  constexpr std::uint64_t kDiffusionSeeds = 0x646966667573696full;
  return {.seed = context.seed ^ kDiffusionSeeds ^ (static_cast<std::uint64_t>(draw) << 32) ^
                  (index << 40),
          .purpose = base::DrawPurpose::kAugmentation,
          .group = static_cast<std::uint64_t>(context.step),
          .index = static_cast<std::uint64_t>(context.first_position)};
}

}  // namespace

at::Tensor drawn_normals(const at::Tensor& samples, DiffusionDraw draw,
                         const ForwardContext& context, std::uint64_t index) {
  return tensor::normal_samples(samples, key_of(draw, context, index));
}

at::Tensor drawn_uniforms(const at::Tensor& samples, DiffusionDraw draw,
                          const ForwardContext& context, std::uint64_t index) {
  return tensor::uniform_samples(samples, key_of(draw, context, index));
}

}  // namespace paceline::nn
