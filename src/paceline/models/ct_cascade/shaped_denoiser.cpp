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
  Shaped at_voxels, condition;
  std::vector<Shaped> keys_values;
};

Shaped at_voxels(const StagePass& stage, const std::vector<Shaped>& features) {
  ShapedPass& pass = stage.pass;
  const VolumeDenoiserConfig& config = stage.config;
  const nn::ShapedSight sight{config.encoder, &config.geometry, config.side};
  const std::vector<Shaped> lifts = nn::shaped_lifts(sight, features, pass);
  const std::vector<Shaped> channels = nn::shaped_lookups(sight, lifts, pass);
  const std::int64_t count = 2 * config.encoder.num_views;
  const Shaped all =
      pass.cast(pass.stacked(channels, count * stage.voxels()), pass.options().width);
  const Shaped patches = pass.rearranged(all);
  return pass.linear(patches, stage.rows(), count * stage.patch, config.dim);
}

ShapedContext encode(const StagePass& stage) {
  ShapedPass& pass = stage.pass;
  const VolumeDenoiserConfig& config = stage.config;
  const std::vector<Shaped> features = nn::shaped_features(config.encoder, pass);
  const Shaped tokens = nn::shaped_tokens(config.encoder, features, pass);
  ShapedContext context;
  context.at_voxels = at_voxels(stage, features);
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

Shaped tokens_of(const StagePass& stage, const Shaped& base, const ShapedContext& context) {
  ShapedPass& pass = stage.pass;
  const std::int64_t count = base.values > 0 ? 2 : 1;
  const Shaped noisy = pass.given(stage.voxels());
  const Shaped channels = count == 2 ? pass.stacked({noisy, base}, 2 * noisy.values) : noisy;
  Shaped embedded;
  {
    const Shaped patches = pass.rearranged(channels);
    const Shaped made = pass.linear(patches, stage.rows(), count * stage.patch, stage.config.dim);
    embedded = pass.sum(made, context.at_voxels);
  }
  return pass.plus_parameter(embedded, stage.tokens * stage.config.dim);
}

Shaped voxels_of(const StagePass& stage, const Shaped& x, const Shaped& condition) {
  ShapedPass& pass = stage.pass;
  const std::int64_t dim = stage.config.dim;
  Shaped factors = pass.linear(condition, stage.samples, dim, 2 * dim);
  factors.values = stage.samples * dim;
  const Shaped rows = shaped_modulated_norm(x, factors, stage.rows(), pass);
  const Shaped patches = pass.linear(rows, stage.rows(), dim, stage.patch);
  return pass.rearranged(patches);
}

}  // namespace

Shaped shaped_denoiser(const VolumeDenoiserConfig& config, ShapedPass& pass) {
  const StagePass stage = stage_pass(config, pass);
  const ShapedContext context = encode(stage);
  const std::int64_t width = pass.options().width;
  const Shaped base = config.previous_side > 0 ? pass.take(stage.voxels(), width) : Shaped{};
  const Shaped condition = condition_of(stage, context);
  const DenoiserShape shape{stage.samples, stage.tokens, stage.xray_tokens};
  const DenoiserBlockConfig block{config.dim, config.num_heads, config.fused};
  Shaped x = tokens_of(stage, base, context);
  for (const Shaped& keys_values : context.keys_values) {
    x = pass.unit({x, condition, keys_values}, [=, &pass](const std::vector<Shaped>& inputs) {
      return shaped_block(block, shape, inputs, pass);
    });
  }
  const Shaped made = pass.cast(voxels_of(stage, x, condition), width);
  return config.previous_side > 0 ? pass.sum(base, made) : made;
}

}  // namespace paceline::models
