#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/parallel/adaptive_clipping.h"
#include "paceline/parallel/unit_segments.h"
#include "paceline/tensor/aten.h"

#include <vector>

namespace paceline::parallel {

class Strategy;  // parallel/strategy.h

/// Scales the gradient of each unit down so that its Euclidean norm is at most `threshold` times
/// that of the unit's weights, which counts as `floor` at least. A unit is what makes one output: a
/// row of a matrix, a filter of a convolution; a vector is one unit. Without a floor units whose
/// weights are zeros never move, as in Composer; timm's floor is 1e-3. A gradient that is not
/// finite stays as it is. Norms are over every shard, in float32 (float64 for float64 gradients).
/// Paper: Brock et al., "High-performance large-scale image recognition without normalization",
/// ICML 2021.
class AdaptiveClipper {
 public:
  /// `watches`: a gradient is clipped as soon as backward has made it, while it is in a cache,
  /// where the strategy lets it be watched: for who clips in every step, before anybody else sees
  /// gradients. The strategy is prepared and must outlive this.
  AdaptiveClipper(Strategy& strategy, const AdaptiveClipping& clipping, bool watches = false);
  ~AdaptiveClipper();
  AdaptiveClipper(const AdaptiveClipper&) = delete;
  AdaptiveClipper& operator=(const AdaptiveClipper&) = delete;

  /// As the functions of gradient_clipping.h. Every rank must call it.
  void clip();

 private:
  struct SlotSegment {
    at::Tensor param;
    at::Tensor grad;
    UnitSegment segment;
  };
  void clip_whole(const at::Tensor& weight, const at::Tensor& gradient,
                  const UnitSegment& segment) const;
  void clip_on_host() const;
  void clip_on_device() const;

  Strategy& strategy_;
  AdaptiveClipping clipping_;
  optim::ParameterShards shards_;
  Units units_;
  bool is_on_host_;
  std::vector<SlotSegment> segments_;
  bool is_watching_ = false;
};

}  // namespace paceline::parallel
