#pragma once

#include "paceline/nn/pass_memory/shaped_pass.h"
#include "paceline/nn/volume/xray_encoder.h"
#include "paceline/volume/projection_geometry.h"

#include <cstdint>
#include <vector>

namespace paceline::nn {

// What the parts of this folder make and keep in a training pass, of shapes alone. Views that share
// weights are one tensor of them all.

/// XrayEncoder::forward().
std::vector<Shaped> shaped_features(const XrayEncoderConfig& config, ShapedPass& pass);
/// XrayEncoder::tokens().
Shaped shaped_tokens(const XrayEncoderConfig& config, const std::vector<Shaped>& features,
                     ShapedPass& pass);
/// XrayEncoder::pooled().
Shaped shaped_means(const XrayEncoderConfig& config, const std::vector<Shaped>& features,
                    ShapedPass& pass);

/// What voxels of cubes of `side` see of X-rays.
struct ShapedSight {
  XrayEncoderConfig encoder;
  const volume::ProjectionGeometry* geometry = nullptr;
  std::int64_t side = 0;
};

/// DepthLift::forward() of each.
std::vector<Shaped> shaped_lifts(const ShapedSight& sight, const std::vector<Shaped>& features,
                                 ShapedPass& pass);
/// ViewLookup::pixels() of all views, then voxels() of all lifts.
std::vector<Shaped> shaped_lookups(const ShapedSight& sight, const std::vector<Shaped>& lifts,
                                   ShapedPass& pass);

/// NumberEmbedding::forward() of each sample.
Shaped shaped_number(std::int64_t dim, ShapedPass& pass);

/// ProjectionLoss::forward() of volumes.
Shaped shaped_projection_loss(const volume::ProjectionGeometry& geometry, std::int64_t side,
                              std::int64_t xray_size, const Shaped& volumes, ShapedPass& pass);

}  // namespace paceline::nn
