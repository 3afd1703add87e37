#include "paceline/app/evaluation/network_of_views.h"

#include "paceline/app/evaluation/eval_transforms.h"
#include "paceline/base/error.h"
#include "paceline/nn/network_parts.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// As means are taken of it.
at::Tensor wide(const at::Tensor& logits) {
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

void check_classes(const nn::Network& network, const LogitViews& views) {
  const auto num_outputs = nn::num_outputs(network);
  if (!views.classes || !num_outputs) return;
  for (const std::int64_t label : *views.classes) {
    if (label < *num_outputs) continue;
    throw base::ConfigError(fmt::format(
        "--class-map: a class of the data is class {} of the model, whose classes are 0 to {}",
        label, *num_outputs - 1));
  }
}

}  // namespace

NetworkOfViews::NetworkOfViews(std::shared_ptr<nn::Network> network, LogitViews views)
    : network_(std::move(network)), views_(std::move(views)) {
  check_classes(*network_, views_);
  register_module("network", network_);
}

/// All views in one pass: where ranks bring weights together in it, those without samples take part
/// in one.
at::Tensor NetworkOfViews::forward(const tensor::Fields& inputs,
                                   const nn::ForwardContext& context) {
  constexpr std::int64_t kWidth = 3;  // of [N, channels, height, width]
  std::vector<at::Tensor> views{inputs.at(data::kImagesField)};
  for (const std::string_view corner : kCornerFields) {
    if (const at::Tensor* const found = inputs.find(corner)) views.push_back(*found);
  }
  if (views_.flip) {
    const auto num_images = views.size();
    for (std::size_t i = 0; i < num_images; ++i) views.push_back(views[i].flip({kWidth}));
  }
  tensor::Fields fields;
  fields.set(data::kImagesField, views.size() == 1 ? views.front() : at::cat(views));
  at::Tensor logits = wide(network_->forward(fields, context));
  logits = logits.view({std::ssize(views), -1, logits.size(1)}).mean(0);
  if (views_.classes)
    logits = logits.index_select(1, at::tensor(*views_.classes).to(logits.device()));
  return logits / views_.temperature;
}

}  // namespace paceline::app
