#pragma once

#include "paceline/nn/conv.h"
#include "paceline/nn/image_size.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/nn/max_pool.h"
#include "paceline/nn/unit.h"
#include "paceline/nn/volume/group_norm.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::nn {

struct XrayEncoderConfig {
  std::int64_t num_views = 2;
  std::int64_t xray_size = 512;     ///< pixels a side, a multiple of 8 * token_pool
  std::int64_t dim = 512;           ///< of a feature, a multiple of 64
  bool share_view_weights = false;  ///< one tower for all views instead of one for each
  std::int64_t token_pool = 1;      ///< features a side that a token is the mean of
};

/// From an X-ray to its features at an eighth of the resolution: convolutions 1 to dim / 8 of 7x7
/// and stride 2, to dim / 4 and to dim of 3x3, a group normalisation of 8 groups and a ReLU behind
/// each, a pool to half the resolution behind the first two. Names: conv1, norm1, ... norm3.
class XrayTower : public Unit {
 public:
  explicit XrayTower(std::int64_t dim);

  /// [N, 1, H, W] to [N, dim, H / 8, W / 8].
  at::Tensor forward(const at::Tensor& images) const;
  /// One image; makes `size` the output's.
  void count(ImageSize& size, LayerCosts& costs) const;

 private:
  std::shared_ptr<Conv2d> conv1_, conv2_, conv3_;
  std::shared_ptr<GroupNorm> norm1_, norm2_, norm3_;
  std::shared_ptr<MaxPool2d> pool1_, pool2_;
};

/// What a stage of a cascade sees of X-rays. Names: towers.N of each view, or towers.0 of all;
/// view_embed [1, views, 1, dim]; pos_embed [1, 1, tokens of a view, dim].
class XrayEncoder : public torch::nn::Module {
 public:
  explicit XrayEncoder(const XrayEncoderConfig& config);

  /// [N, views, H, W] to each view's features [N, dim, H / 8, W / 8]. Throws InternalError for
  /// other sizes than the config's.
  std::vector<at::Tensor> forward(const at::Tensor& xrays) const;

  /// The tokens of all views behind each other, which know their view and place in it: [N *
  /// num_tokens(), dim].
  at::Tensor tokens(const std::vector<at::Tensor>& features) const;
  /// The mean feature of each view, behind each other: [N, views * dim]. A mean over views would
  /// mix what only their places tell apart.
  static at::Tensor pooled(const std::vector<at::Tensor>& features);

  /// Of all views of a sample.
  std::int64_t num_tokens() const;
  const XrayEncoderConfig& config() const { return config_; }
  void count(LayerCosts& costs) const;

 private:
  std::int64_t tokens_per_side() const { return config_.xray_size / 8 / config_.token_pool; }

  XrayEncoderConfig config_;
  std::vector<std::shared_ptr<XrayTower>> towers_;
  at::Tensor view_embed_;
  at::Tensor pos_embed_;
};

}  // namespace paceline::nn
