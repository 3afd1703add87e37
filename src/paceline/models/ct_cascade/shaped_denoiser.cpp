#include "paceline/models/ct_cascade/shaped_denoiser.h"

#include "paceline/models/ct_cascade/shaped_block.h"
#include "paceline/nn/volume/shaped_parts.h"

#include <utility>
#include <vector>

namespace paceline::models {
namespace {

using nn::Shaped;
using nn::ShapedPass;
using Keeps = ShapedPass::Keeps;

/// What a pass of a stage goes by.
struct StagePass {
  const VolumeDenoiserConfig& config;
  ShapedPass& pass;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< of a sample
  std::int64_t xray_tokens = 0;
  std::int64_t patch = 0;  ///< voxels of a token

  std::int64_t rows() const { return samples * tokens; }
  std::int64_t voxels() const { return rows() * patch; }
};

StagePass stage_pass(const VolumeDenoiserConfig& config, ShapedPass& pass) {
  const auto cube = [](std::int64_t side) { return side * side * side; };
  const std::int64_t xray_side = config.encoder.xray_size / 8 / config.encoder.token_pool;
  return {.config = config,
          .pass = pass,
          .samples = pass.options().samples,
          .tokens = cube(config.side / config.patch),
          .xray_tokens = config.encoder.num_views * xray_side * xray_side,
          .patch = cube(config.patch)};
}

/// An nn::XrayContext.
struct ShapedContext {
  Shaped voxels, at_voxels, condition;
  std::vector<Shaped> keys_values;
};

Shaped seen_at_voxels(const StagePass& stage, const std::vector<Shaped>& features) {
  ShapedPass& pass = stage.pass;
  const VolumeDenoiserConfig& config = stage.config;
  const nn::ShapedSight sight{config.encoder, &config.geometry, config.side};
  const std::vector<Shaped> lifts = nn::shaped_lifts(sight, features, pass);
  const std::vector<Shaped> channels = nn::shaped_lookups(sight, lifts, pass);
  const std::int64_t count = 2 * config.encoder.num_views;
  return pass.cast(pass.stacked(channels, count * stage.voxels()), pass.options().width);
}

ShapedContext encode(const StagePass& stage) {
  ShapedPass& pass = stage.pass;
  const VolumeDenoiserConfig& config = stage.config;
  const std::vector<Shaped> features = nn::shaped_features(config.encoder, pass);
  const Shaped tokens = nn::shaped_tokens(config.encoder, features, pass);
  ShapedContext context;
  {
    const Shaped seen = seen_at_voxels(stage, features);
    const Shaped patches = pass.rearranged(seen);
    context.at_voxels = pass.linear(patches, stage.rows(), seen.values / stage.rows(), config.dim);
    if (config.previous_side > 0) context.voxels = seen;
  }
  context.condition = pass.linear(nn::shaped_means(config.encoder, features, pass), stage.samples,
                                  config.encoder.num_views * config.encoder.dim, config.dim);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    context.keys_values.push_back(pass.unit({tokens}, [stage](const std::vector<Shaped>& inputs) {
      return stage.pass.linear(inputs.front(), stage.samples * stage.xray_tokens,
                               stage.config.encoder.dim, 2 * stage.config.dim);
    }));
  }
  return context;
}

Shaped condition_of(const StagePass& stage, const ShapedContext& context) {
  ShapedPass& pass = stage.pass;
  Shaped sum = pass.sum(context.condition, nn::shaped_number(stage.config.dim, pass));
  if (stage.config.previous_side > 0)
    sum = pass.sum(sum, nn::shaped_number(stage.config.dim, pass));
  return pass.pointwise(sum, Keeps::kInput);
}

Shaped tokens_of(const StagePass& stage, const Shaped& channels, const ShapedContext& context) {
  ShapedPass& pass = stage.pass;
  Shaped embedded;
  {
    const Shaped patches = pass.rearranged(channels);
    const Shaped made =
        pass.linear(patches, stage.rows(), channels.values / stage.rows(), stage.config.dim);
    embedded = pass.sum(made, context.at_voxels);
  }
  return pass.plus_parameter(embedded, stage.tokens * stage.config.dim);
}

Shaped final_rows(const StagePass& stage, const Shaped& x, const Shaped& condition) {
  const std::int64_t dim = stage.config.dim;
  Shaped factors = stage.pass.linear(condition, stage.samples, dim, 2 * dim);
  factors.values = stage.samples * dim;
  return shaped_modulated_norm(x, factors, stage.rows(), stage.pass);
}

Shaped voxels_of(const StagePass& stage, const Shaped& rows) {
  const Shaped patches = stage.pass.linear(rows, stage.rows(), stage.config.dim, stage.patch);
  return stage.pass.rearranged(patches);
}

/// DetailHead::forward().
Shaped detail(const StagePass& stage, const Shaped& channels, const Shaped& rows) {
  ShapedPass& pass = stage.pass;
  constexpr std::int64_t kKernel =
      DetailHead::kKernelSize * DetailHead::kKernelSize * DetailHead::kKernelSize;
  const std::int64_t hidden = DetailHead::kHidden * stage.voxels();
  const std::int64_t num_channels = channels.values / stage.voxels();
  // LibTorch's convolutions of volumes of float64 on the CPU unfold them.
  const bool unfolds = !pass.options().is_on_gpu && pass.matmul_width() > 4;
  const auto unfolded = [&](std::int64_t values) { return unfolds ? kKernel * values : 0; };
  Shaped factors = pass.linear(rows, stage.rows(), stage.config.dim, 2 * DetailHead::kHidden);
  factors.values /= 2;
  Shaped steered;
  {
    const Shaped found = pass.convolution(channels, num_channels * DetailHead::kHidden * kKernel,
                                          hidden, unfolded(channels.values));
    const Shaped scaled = pass.product(found, factors);
    steered = pass.sum(scaled, Shaped{scaled.values, factors.width});
  }
  const Shaped active = pass.pointwise(steered, Keeps::kInput);
  return pass.convolution(active, DetailHead::kHidden * kKernel, stage.voxels(), unfolded(hidden));
}

Shaped with_detail(const StagePass& stage, const Shaped& made, const Shaped& channels,
                   const Shaped& rows, const ShapedContext& context) {
  ShapedPass& pass = stage.pass;
  const Shaped known = pass.stacked({channels, context.voxels, made},
                                    channels.values + context.voxels.values + made.values);
  const Shaped found = pass.unit({known, rows}, [stage](const std::vector<Shaped>& inputs) {
    return detail(stage, inputs[0], inputs[1]);
  });
  return pass.sum(made, found);
}

}  // namespace

Shaped shaped_denoiser(const VolumeDenoiserConfig& config, ShapedPass& pass) {
  const StagePass stage = stage_pass(config, pass);
  const ShapedContext context = encode(stage);
  const std::int64_t width = pass.options().width;
  const bool is_first = config.previous_side == 0;
  const Shaped base = is_first ? Shaped{} : pass.take(stage.voxels(), width);
  const Shaped condition = condition_of(stage, context);
  const DenoiserShape shape{stage.samples, stage.tokens, stage.xray_tokens};
  const DenoiserBlockConfig block{config.dim, config.num_heads, config.fused};
  const Shaped noisy = pass.given(stage.voxels());
  const Shaped channels = is_first ? noisy : pass.stacked({noisy, base}, 2 * noisy.values);
  Shaped x = tokens_of(stage, channels, context);
  for (const Shaped& keys_values : context.keys_values) {
    x = pass.unit({x, condition, keys_values}, [=, &pass](const std::vector<Shaped>& inputs) {
      return shaped_block(block, shape, inputs, pass);
    });
  }
  const Shaped rows = final_rows(stage, x, condition);
  Shaped made = voxels_of(stage, rows);
  if (!is_first) made = with_detail(stage, made, channels, rows, context);
  made = pass.cast(made, width);
  return is_first ? made : pass.sum(base, made);
}

}  // namespace paceline::models
