#include "paceline/models/ct_cascade/volume_denoiser.h"

#include "paceline/base/error.h"
#include "paceline/models/ct_cascade/modulation.h"
#include "paceline/models/ct_cascade/patches.h"
#include "paceline/nn/init.h"

#include <algorithm>

namespace paceline::models {
namespace {

constexpr double kPositionDeviation = 0.02;
constexpr double kLevelSteps = 1000;  // a level of 1 is told as the last step would be

std::int64_t voxels_of_patch(std::int64_t patch) { return patch * patch * patch; }

bool is_modulation(const std::string& name) {
  return name.find("modulation.") != std::string::npos;
}

bool begins_at_zero(const std::string& name) {
  return is_modulation(name) || name.starts_with("detail.conv2.");
}

bool is_norm(const std::string& name) { return name.find("norm") != std::string::npos; }

}  // namespace

VolumeDenoiser::VolumeDenoiser(const VolumeDenoiserConfig& config) : config_(config) {
  for (const double angle : config.geometry.angles_degrees)
    lookups_.emplace_back(config.geometry, angle, config.side);
  encoder_ = register_module("encoder", std::make_shared<nn::XrayEncoder>(config.encoder));
  const auto lift = register_module("lift", std::make_shared<torch::nn::Module>());
  const std::int64_t num_lifts = config.encoder.share_view_weights ? 1 : config.encoder.num_views;
  for (std::int64_t i = 0; i < num_lifts; ++i) {
    lifts_.push_back(lift->register_module(
        std::to_string(i), std::make_shared<nn::DepthLift>(config.encoder.dim, config.side)));
  }
  add_embeddings();
  add_blocks();
}

void VolumeDenoiser::add_embeddings() {
  const std::int64_t dim = config_.dim;
  const std::int64_t voxels = voxels_of_patch(config_.patch);
  const std::int64_t num_views = config_.encoder.num_views;
  const bool is_first = config_.previous_side == 0;
  volume_embed_ = register_module("volume_embed",
                                  std::make_shared<nn::Linear>((is_first ? 1 : 2) * voxels, dim));
  view_embed_ = register_module(
      "view_embed", std::make_shared<nn::Linear>(2 * num_views * voxels, dim, /*has_bias=*/false));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, num_tokens(), dim}));
  xray_embed_ = register_module("xray_embed",
                                std::make_shared<nn::Linear>(num_views * config_.encoder.dim, dim));
  time_embed_ = register_module("time_embed", std::make_shared<nn::NumberEmbedding>(dim));
  if (!is_first)
    level_embed_ = register_module("level_embed", std::make_shared<nn::NumberEmbedding>(dim));
}

void VolumeDenoiser::add_blocks() {
  const auto keys_values = register_module("keys_values", std::make_shared<torch::nn::Module>());
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
  const DenoiserBlockConfig block{config_.dim, config_.num_heads, config_.fused};
  for (std::int64_t i = 0; i < config_.depth; ++i) {
    const std::string number = std::to_string(i);
    keys_values_.push_back(keys_values->register_module(
        number, std::make_shared<XrayKeysValues>(config_.encoder.dim, config_.dim)));
    blocks_.push_back(blocks->register_module(number, std::make_shared<DenoiserBlock>(block)));
  }
  const auto final = register_module("final", std::make_shared<torch::nn::Module>());
  final_modulation_ = final->register_module(
      "modulation", std::make_shared<nn::Linear>(config_.dim, 2 * config_.dim));
  final_proj_ = final->register_module(
      "proj", std::make_shared<nn::Linear>(config_.dim, voxels_of_patch(config_.patch)));
  if (config_.previous_side == 0) return;
  // The noisy volume, the previous one, what tokens make, and of each view pixels and lift.
  const std::int64_t num_channels = 3 + 2 * config_.encoder.num_views;
  detail_ = register_module("detail",
                            std::make_shared<DetailHead>(num_channels, config_.dim, config_.patch));
}

std::int64_t VolumeDenoiser::num_tokens() const {
  return voxels_of_patch(config_.side / config_.patch);
}

nn::XrayContext VolumeDenoiser::encode(const at::Tensor& xrays) const {
  const std::vector<at::Tensor> features = encoder_->forward(xrays);
  const at::Tensor tokens = encoder_->tokens(features);
  nn::XrayContext context;
  const at::Tensor seen = seen_at_voxels(xrays, features);
  context.at_voxels = view_embed_->forward(patches_of_volumes(seen, config_.patch));
  if (detail_) context.voxels = seen;
  context.condition = xray_embed_->forward(nn::XrayEncoder::pooled(features));
  for (const auto& layer : keys_values_) context.keys_values.push_back(layer->forward(tokens));
  return context;
}

/// The lift of each view in its own layers.
std::vector<at::Tensor> VolumeDenoiser::lifted(const std::vector<at::Tensor>& features) const {
  const std::int64_t num_views = std::ssize(features);
  if (config_.encoder.share_view_weights) {
    // A unit runs at most once in a pass.
    const at::Tensor all = lifts_[0]->forward(at::stack(features, 1).flatten(0, 1));
    return all.unflatten(0, {-1, num_views}).unbind(1);
  }
  std::vector<at::Tensor> layers;
  for (std::size_t view = 0; view < features.size(); ++view)
    layers.push_back(lifts_[view]->forward(features[view]));
  return layers;
}

/// The pixels of each view, then the lift of each, [N, 2 * views, side, side, side].
at::Tensor VolumeDenoiser::seen_at_voxels(const at::Tensor& xrays,
                                          const std::vector<at::Tensor>& features) const {
  const std::vector<at::Tensor> layers = lifted(features);
  std::vector<at::Tensor> channels;
  for (std::size_t view = 0; view < features.size(); ++view)
    channels.push_back(lookups_[view].pixels(xrays.select(1, static_cast<std::int64_t>(view))));
  for (std::size_t view = 0; view < features.size(); ++view)
    channels.push_back(lookups_[view].voxels(layers[view]));
  return at::stack(channels, 1).to(xrays.scalar_type());
}

at::Tensor VolumeDenoiser::condition_of(const nn::NoisyVolumes& volumes,
                                        const nn::XrayContext& context) const {
  const at::ScalarType dtype = volumes.noisy.scalar_type();
  at::Tensor sum = context.condition + time_embed_->forward(volumes.steps, dtype);
  if (level_embed_) sum = sum + level_embed_->forward(volumes.levels * kLevelSteps, dtype);
  return at::silu(sum);
}

at::Tensor VolumeDenoiser::tokens_of(const at::Tensor& channels,
                                     const nn::XrayContext& context) const {
  const at::Tensor embedded =
      volume_embed_->forward(patches_of_volumes(channels, config_.patch)) + context.at_voxels;
  // The blocks' residual stream has the volume's type, whatever autocast made of the layers.
  const at::Tensor tokens =
      embedded.view({-1, num_tokens(), config_.dim}) + pos_embed_.to(channels.scalar_type());
  return tokens.view({-1, config_.dim});
}

at::Tensor VolumeDenoiser::voxels_of(const at::Tensor& rows) const {
  return volumes_of_patches(final_proj_->forward(rows), config_.side, config_.patch);
}

at::Tensor VolumeDenoiser::with_detail(const at::Tensor& made, const at::Tensor& channels,
                                       const at::Tensor& rows,
                                       const nn::XrayContext& context) const {
  // Channels last in memory, with which convolutions take half the time.
  const auto last = [](const at::Tensor& parts) { return parts.permute({0, 2, 3, 4, 1}); };
  const at::Tensor known = at::cat({last(channels), last(context.voxels), made.unsqueeze(-1)}, -1);
  return made + detail_->forward(known.permute({0, 4, 1, 2, 3}), rows);
}

/// The previous volumes made as fine as this stage's; undefined in a first stage.
at::Tensor VolumeDenoiser::base_of(const nn::NoisyVolumes& volumes) const {
  const std::int64_t before = config_.previous_side;
  if (before == 0) return {};
  const std::int64_t side = config_.side;
  PACELINE_CHECK(
      volumes.previous.defined() && volumes.levels.defined() &&
          volumes.previous.sizes().equals({volumes.noisy.size(0), before, before, before}),
      "a stage needs the volumes of the stage before, {} voxels a side", before);
  return at::upsample_trilinear3d(volumes.previous.unsqueeze(1), {side, side, side},
                                  /*align_corners=*/false)
      .squeeze(1);
}

at::Tensor VolumeDenoiser::denoise(const nn::NoisyVolumes& volumes,
                                   const nn::XrayContext& context) const {
  const std::int64_t side = config_.side;
  const std::int64_t batch = volumes.noisy.size(0);
  PACELINE_CHECK(volumes.noisy.sizes().equals({batch, side, side, side}),
                 "a stage for cubes of {} voxels a side got others", side);
  const at::Tensor base = base_of(volumes);
  const at::Tensor condition = condition_of(volumes, context);
  const DenoiserShape shape{batch, num_tokens(), encoder_->num_tokens()};
  const at::Tensor channels =
      base.defined() ? at::stack({volumes.noisy, base}, 1) : volumes.noisy.unsqueeze(1);
  at::Tensor x = tokens_of(channels, context);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = blocks_[i]->forward(x, condition, context.keys_values[i], shape);
  const std::vector<at::Tensor> m = final_modulation_->forward(condition).chunk(2, 1);
  const at::Tensor rows = modulated_norm(x, m[0], m[1], DenoiserBlock::kNormEps);
  at::Tensor made = voxels_of(rows);
  if (detail_) made = with_detail(made, channels, rows, context);
  made = made.to(volumes.noisy.scalar_type());
  return base.defined() ? base + made : made;
}

void VolumeDenoiser::count(nn::LayerCosts& costs) const {
  const std::int64_t features = config_.encoder.xray_size / 8;
  encoder_->count(costs);
  for (std::int64_t view = 0; view < config_.encoder.num_views; ++view)
    lifts_[lifts_.size() == 1 ? 0 : static_cast<std::size_t>(view)]->count({features, features},
                                                                           costs);
  view_embed_->count(num_tokens(), costs);
  xray_embed_->count(costs);
  for (const auto& layer : keys_values_) layer->count(encoder_->num_tokens(), costs);
  time_embed_->count(costs);
  if (level_embed_) level_embed_->count(costs);
  volume_embed_->count(num_tokens(), costs);
  for (const auto& block : blocks_) block->count(num_tokens(), encoder_->num_tokens(), costs);
  final_modulation_->count(costs);
  final_proj_->count(num_tokens(), costs);
  if (detail_) detail_->count(config_.side, costs);
}

void VolumeDenoiser::initialize_parameter(const nn::NamedTensor& parameter,
                                          const tensor::DrawKey& key) const {
  const std::string& name = parameter.name;
  const at::Tensor& tensor = parameter.tensor;
  if (begins_at_zero(name)) return nn::constant(tensor, 0.0);
  if (name.ends_with("pos_embed") || name == "encoder.view_embed")
    return tensor::fill_normal(tensor, 0.0, kPositionDeviation, key);
  const bool is_bias = name.ends_with(".bias");
  if (is_norm(name)) return nn::constant(tensor, is_bias ? 0.0 : 1.0);
  if (!is_bias) return nn::default_weight(tensor, key);
  const std::string weight = name.substr(0, name.size() - 4) + "weight";
  for (const nn::NamedTensor& other : nn::named_parameters(*this)) {
    if (other.name == weight) return nn::default_bias(tensor, other.tensor, key);
  }
  throw base::InternalError("a bias beside no weight: " + name);
}

}  // namespace paceline::models
