#pragma once

#include "paceline/models/ct_cascade/denoiser_block.h"
#include "paceline/models/ct_cascade/detail_head.h"
#include "paceline/nn/volume/cascade_network.h"
#include "paceline/nn/volume/depth_lift.h"
#include "paceline/nn/volume/number_embedding.h"
#include "paceline/nn/volume/view_lookup.h"
#include "paceline/nn/volume/xray_encoder.h"
#include "paceline/volume/projection_geometry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::models {

struct VolumeDenoiserConfig {
  nn::XrayEncoderConfig encoder;
  volume::ProjectionGeometry geometry;  ///< with as many angles as there are views
  std::int64_t side = 64;               ///< voxels, a multiple of `patch`
  std::int64_t previous_side = 0;       ///< of the stage before; 0: this is the first
  std::int64_t patch = 4;
  std::int64_t dim = 256;  ///< a multiple of num_heads
  std::int64_t depth = 4;
  std::int64_t num_heads = 4;
  FusedMode fused = FusedMode::kAuto;
};

/// A stage of a cascade: from a noisy volume, a step and X-rays to the volume. A token is a cube of
/// patch^3 voxels, which it sees of the noisy volume, of the previous one made as fine by trilinear
/// interpolation, and of each view's pixels and depth lift at the voxels. In blocks tokens attend
/// to each other and to the X-rays'; a linear layer makes patch^3 voxels of each token again, which
/// are added to the previous volume if there is one, with a detail head's detail. Names: encoder,
/// lift.N of each view (or lift.0 of all, as the encoder's towers), volume_embed, view_embed,
/// pos_embed, xray_embed, time_embed, keys_values.N, blocks.N, final.modulation, final.proj; but
/// for a first stage level_embed and detail.
class VolumeDenoiser : public torch::nn::Module {
 public:
  explicit VolumeDenoiser(const VolumeDenoiserConfig& config);

  nn::XrayContext encode(const at::Tensor& xrays) const;
  at::Tensor denoise(const nn::NoisyVolumes& volumes, const nn::XrayContext& context) const;

  const VolumeDenoiserConfig& config() const { return config_; }
  const nn::XrayEncoder& encoder() const { return *encoder_; }
  /// One sample, encode() and denoise().
  void count(nn::LayerCosts& costs) const;
  /// Gives one of its parameters, by the name that it has here, its first value.
  void initialize_parameter(const nn::NamedTensor& parameter, const tensor::DrawKey& key) const;

 private:
  void add_embeddings();
  void add_blocks();
  std::int64_t num_tokens() const;
  at::Tensor seen_at_voxels(const at::Tensor& xrays, const std::vector<at::Tensor>& features) const;
  std::vector<at::Tensor> lifted(const std::vector<at::Tensor>& features) const;
  at::Tensor condition_of(const nn::NoisyVolumes& volumes, const nn::XrayContext& context) const;
  at::Tensor base_of(const nn::NoisyVolumes& volumes) const;
  at::Tensor tokens_of(const at::Tensor& channels, const nn::XrayContext& context) const;
  at::Tensor voxels_of(const at::Tensor& rows) const;
  at::Tensor with_detail(const at::Tensor& made, const at::Tensor& channels, const at::Tensor& rows,
                         const nn::XrayContext& context) const;

  VolumeDenoiserConfig config_;
  std::vector<nn::ViewLookup> lookups_;  ///< of each view
  std::shared_ptr<nn::XrayEncoder> encoder_;
  std::vector<std::shared_ptr<nn::DepthLift>> lifts_;
  std::shared_ptr<nn::Linear> volume_embed_;
  std::shared_ptr<nn::Linear> view_embed_;
  at::Tensor pos_embed_;
  std::shared_ptr<nn::Linear> xray_embed_;
  std::shared_ptr<nn::NumberEmbedding> time_embed_;
  std::shared_ptr<nn::NumberEmbedding> level_embed_;  ///< null in a first stage
  std::vector<std::shared_ptr<XrayKeysValues>> keys_values_;
  std::vector<std::shared_ptr<DenoiserBlock>> blocks_;
  std::shared_ptr<nn::Linear> final_modulation_;
  std::shared_ptr<nn::Linear> final_proj_;
  std::shared_ptr<DetailHead> detail_;  ///< null in a first stage
};

}  // namespace paceline::models
