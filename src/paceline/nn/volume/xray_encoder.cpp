#include "paceline/nn/volume/xray_encoder.h"

#include "paceline/base/error.h"

namespace paceline::nn {
namespace {

constexpr std::int64_t kTowerGroups = 8;

}  // namespace

XrayTower::XrayTower(std::int64_t dim) {
  const auto conv = [&](const char* name, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        std::int64_t stride) {
    return register_module(
        name, std::make_shared<Conv2d>(in, out, kernel,
                                       Conv2d::Options{.stride = stride, .padding = kernel / 2}));
  };
  const auto norm = [&](const char* name, std::int64_t channels) {
    return register_module(name, std::make_shared<GroupNorm>(kTowerGroups, channels));
  };
  const auto pool = [&](const char* name, const MaxPool2d::Options& options) {
    return register_module(name, std::make_shared<MaxPool2d>(options));
  };
  conv1_ = conv("conv1", 1, dim / 8, 7, 2);
  norm1_ = norm("norm1", dim / 8);
  pool1_ = pool("pool1", {.kernel_size = 3, .stride = 2, .padding = 1});
  conv2_ = conv("conv2", dim / 8, dim / 4, 3, 1);
  norm2_ = norm("norm2", dim / 4);
  pool2_ = pool("pool2", {.kernel_size = 2, .stride = 2});
  conv3_ = conv("conv3", dim / 4, dim, 3, 1);
  norm3_ = norm("norm3", dim);
}

at::Tensor XrayTower::forward(const at::Tensor& images) const {
  return run(images, [this](const at::Tensor& input) {
    at::Tensor x = pool1_->forward(at::relu(norm1_->forward(conv1_->forward(input))));
    x = pool2_->forward(at::relu(norm2_->forward(conv2_->forward(x))));
    return at::relu(norm3_->forward(conv3_->forward(x)));
  });
}

void XrayTower::count(ImageSize& size, LayerCosts& costs) const {
  conv1_->count(size, costs);
  pool1_->count(conv1_->weight.size(0), size, costs);
  conv2_->count(size, costs);
  pool2_->count(conv2_->weight.size(0), size, costs);
  conv3_->count(size, costs);
}

XrayEncoder::XrayEncoder(const XrayEncoderConfig& config) : config_(config) {
  const auto towers = register_module("towers", std::make_shared<torch::nn::Module>());
  const std::int64_t num_towers = config.share_view_weights ? 1 : config.num_views;
  for (std::int64_t i = 0; i < num_towers; ++i) {
    towers_.push_back(
        towers->register_module(std::to_string(i), std::make_shared<XrayTower>(config.dim)));
  }
  view_embed_ = register_parameter("view_embed", at::empty({1, config.num_views, 1, config.dim}));
  pos_embed_ = register_parameter(
      "pos_embed", at::empty({1, 1, tokens_per_side() * tokens_per_side(), config.dim}));
}

std::vector<at::Tensor> XrayEncoder::forward(const at::Tensor& xrays) const {
  PACELINE_CHECK(xrays.dim() == 4 && xrays.size(1) == config_.num_views &&
                     xrays.size(2) == config_.xray_size && xrays.size(3) == config_.xray_size,
                 "an encoder of {} views of {} pixels a side got X-rays of other sizes",
                 config_.num_views, config_.xray_size);
  if (config_.share_view_weights) {
    // A unit runs at most once in a pass.
    const at::Tensor all = towers_[0]->forward(xrays.flatten(0, 1).unsqueeze(1));
    return all.unflatten(0, {xrays.size(0), config_.num_views}).unbind(1);
  }
  std::vector<at::Tensor> features;
  for (std::int64_t view = 0; view < config_.num_views; ++view) {
    features.push_back(
        towers_[static_cast<std::size_t>(view)]->forward(xrays.select(1, view).unsqueeze(1)));
  }
  return features;
}

at::Tensor XrayEncoder::tokens(const std::vector<at::Tensor>& features) const {
  std::vector<at::Tensor> by_view;
  for (const at::Tensor& view : features) {
    const std::int64_t pool = config_.token_pool;
    const at::Tensor pooled = pool == 1 ? view : at::avg_pool2d(view, {pool, pool});
    by_view.push_back(pooled.flatten(2).transpose(1, 2));
  }
  const at::Tensor all = at::stack(by_view, 1) + view_embed_ + pos_embed_;
  return all.reshape({-1, config_.dim});
}

at::Tensor XrayEncoder::pooled(const std::vector<at::Tensor>& features) {
  std::vector<at::Tensor> by_view;
  for (const at::Tensor& view : features) by_view.push_back(view.mean({2, 3}));
  return at::cat(by_view, 1);
}

std::int64_t XrayEncoder::num_tokens() const {
  return config_.num_views * tokens_per_side() * tokens_per_side();
}

void XrayEncoder::count(LayerCosts& costs) const {
  for (std::int64_t view = 0; view < config_.num_views; ++view) {
    ImageSize size{config_.xray_size, config_.xray_size};
    towers_[config_.share_view_weights ? 0 : static_cast<std::size_t>(view)]->count(size, costs);
  }
}

}  // namespace paceline::nn
