#include "paceline/app/evaluation/network_of_views.h"

#include "paceline/app/evaluation/eval_transforms.h"
#include "paceline/base/error.h"
#include "paceline/nn/network_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  for (const auto& labels : *views.classes) {
    const std::int64_t label = std::ranges::max(labels);
    if (label < *num_outputs) continue;
    throw base::ConfigError(fmt::format(
        "--class-map: a class of the data is class {} of the model, whose classes are 0 to {}",
        label, *num_outputs - 1));
  }
}

/// Of logits [N, classes], those [N, groups] of groups of them: of one its own, of several the log
/// of the mean of their exponentials. Shorter groups are filled up with what adds nothing.
at::Tensor logits_of_groups(const at::Tensor& logits,
                            const std::vector<std::vector<std::int64_t>>& groups) {
  std::size_t longest = 0;
  for (const auto& group : groups) longest = std::max(longest, group.size());
  std::vector<std::int64_t> columns;
  std::vector<double> filling;
  std::vector<double> log_sizes;
  for (const auto& group : groups) {
    for (std::size_t i = 0; i < longest; ++i) {
      columns.push_back(i < group.size() ? group[i] : group.front());
      filling.push_back(i < group.size() ? 0.0 : -std::numeric_limits<double>::infinity());
    }
    log_sizes.push_back(std::log(static_cast<double>(group.size())));
  }
  const at::Tensor chosen = logits.index_select(1, at::tensor(columns).to(logits.device()));
  if (longest == 1) return chosen;
  const auto count = std::ssize(groups);
  const auto width = static_cast<std::int64_t>(longest);
  const at::Tensor none = at::tensor(filling, at::kDouble).view({1, count, width});
  return (chosen.view({-1, count, width}) + none.to(logits)).logsumexp(2) -
         at::tensor(log_sizes, at::kDouble).to(logits);
}

/// Of views with shifts, in the order in which forward() has them; they add up to 1.
at::Tensor weights_of_shifts(std::int64_t num_views, const at::Tensor& logits) {
  const std::int64_t mirrored = num_views / 3;
  const at::Tensor weights = at::tensor({0.5, 0.25, 0.25}, at::kDouble).repeat({mirrored});
  return (weights / mirrored).view({num_views, 1, 1}).to(logits);
}

}  // namespace

std::vector<at::Tensor> with_shifts(const at::Tensor& images, std::int64_t shift) {
  const std::int64_t height = images.size(2);
  const std::int64_t width = images.size(3);
  if (shift >= std::min(height, width))
    throw base::ConfigError(
        fmt::format("--shift {}: images have {} x {} pixels, and the shift must be less", shift,
                    width, height));
  const at::Tensor padded = at::reflection_pad2d(images, {shift, shift, shift, shift});
  const auto piece = [&](std::int64_t begin) {
    return padded.slice(2, begin, begin + height).slice(3, begin, begin + width);
  };
  return {images, piece(0), piece(2 * shift)};
}

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
  if (views_.shift > 0) views = with_shifts(views.front(), views_.shift);
  if (views_.flip) {
    const auto num_images = views.size();
    for (std::size_t i = 0; i < num_images; ++i) views.push_back(views[i].flip({kWidth}));
  }
  tensor::Fields fields;
  fields.set(data::kImagesField, views.size() == 1 ? views.front() : at::cat(views));
  at::Tensor logits = wide(network_->forward(fields, context));
  logits = logits.view({std::ssize(views), -1, logits.size(1)});
  logits = views_.shift > 0 ? (logits * weights_of_shifts(logits.size(0), logits)).sum(0)
                            : logits.mean(0);
  logits = logits / views_.temperature;
  return views_.classes ? logits_of_groups(logits, *views_.classes) : logits;
}

}  // namespace paceline::app
