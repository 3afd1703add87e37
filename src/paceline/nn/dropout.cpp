#include "paceline/nn/dropout.h"

#include "paceline/base/error.h"
#include "paceline/tensor/draws.h"

#include <algorithm>
#include <vector>

namespace paceline::nn {
namespace {

void check_rate(double rate) {
  if (!(rate >= 0.0 && rate <= 1.0)) {
    throw base::ConfigError(fmt::format("a drop rate is in [0, 1]; got {}", rate));
  }
}

tensor::DrawKey draw_key(base::DrawPurpose purpose, std::uint64_t index,
                         const ForwardContext& context) {
  return {.seed = context.seed,
          .purpose = purpose,
          .group = static_cast<std::uint64_t>(context.step),
          .index = index};
}

/// So that the expected value stays.
at::Tensor scale_up(const at::Tensor& mask, double rate) {
  return rate < 1.0 ? mask.mul_(1.0 / (1.0 - rate)) : mask;
}

}  // namespace

Dropout::Dropout(double rate, std::uint64_t index) : rate_(rate), index_(index) {
  check_rate(rate);
}

at::Tensor Dropout::forward(const at::Tensor& input, std::int64_t num_samples,
                            const ForwardContext& context) const {
  const at::Tensor mask = factors(input.sizes(), input.options(), num_samples, context);
  return mask.defined() ? input * mask : input;
}

at::Tensor Dropout::factors(at::IntArrayRef sizes, const at::TensorOptions& options,
                            std::int64_t num_samples, const ForwardContext& context) const {
  if (!is_active() || num_samples == 0) return {};
  const at::Tensor like =
      at::empty({num_samples, c10::multiply_integers(sizes) / num_samples}, options);
  const tensor::DrawKey key = draw_key(base::DrawPurpose::kDropout, index_, context);
  const at::Tensor mask = tensor::keep_mask(like, 1.0 - rate_, key, context.first_position);
  return scale_up(mask, rate_).view(sizes);
}

DropPath::DropPath(double rate, std::uint64_t index)
    : rule_{.rate = rate}, may_draw_(rate > 0), index_(index) {
  check_rate(rate);
}

void DropPath::set_rule(const DropPathRule& rule) {
  check_rate(rule.rate);
  PACELINE_CHECK(rule.group >= 0, "groups of {} samples", rule.group);
  rule_ = rule;
  may_draw_ = may_draw_ || rule.rate > 0;
}

at::Tensor DropPath::forward(const at::Tensor& input, std::int64_t num_samples,
                             const ForwardContext& context) const {
  const at::Tensor mask = factors(input.options(), num_samples, context);
  if (!mask.defined()) return input;
  // Views of the first dimension alone, which keep the strides that the others have.
  const at::Tensor samples = input.unflatten(0, {num_samples, -1});
  std::vector<std::int64_t> ones(static_cast<std::size_t>(samples.dim()), 1);
  ones.front() = num_samples;
  return (samples * mask.view(ones)).flatten(0, 1);
}

at::Tensor DropPath::factors(const at::TensorOptions& options, std::int64_t num_samples,
                             const ForwardContext& context) const {
  if (!is_active() || num_samples == 0) return {};
  if (!is_training()) return at::full({num_samples, 1}, 1.0 - rule_.rate, options);
  const at::Tensor mask = drawn_mask(options, num_samples, context);
  return rule_.scales_in_evaluation ? mask : scale_up(mask, rule_.rate);
}

bool DropPath::drops_all(std::int64_t num_samples, const ForwardContext& context) const {
  if (rule_.group == 1 || !is_training() || rule_.rate == 0 || num_samples == 0) return false;
  return std::ranges::all_of(group_masks(num_samples, context),
                             [](float mask) { return mask == 0; });
}

/// 0 or 1 for each sample; drawn on the host, wherever the samples are.
std::vector<float> DropPath::group_masks(std::int64_t num_samples,
                                         const ForwardContext& context) const {
  const tensor::DrawKey key = draw_key(base::DrawPurpose::kDropPath, index_, context);
  const std::int64_t first = context.first_position;
  std::vector<float> masks;
  std::int64_t drawn_at = -1;
  for (std::int64_t position = first; position < first + num_samples; ++position) {
    const std::int64_t at = rule_.group == 0 ? first : position / rule_.group * rule_.group;
    masks.push_back(
        at == drawn_at ? masks.back()
                       : tensor::keep_mask(at::empty({1, 1}, at::kFloat), 1.0 - rule_.rate, key, at)
                             .item<float>());
    drawn_at = at;
  }
  return masks;
}

at::Tensor DropPath::drawn_mask(const at::TensorOptions& options, std::int64_t num_samples,
                                const ForwardContext& context) const {
  if (rule_.group != 1) {
    const std::vector<float> masks = group_masks(num_samples, context);
    const bool are_equal = std::ranges::all_of(masks, [&](float mask) { return mask == masks[0]; });
    // As of one draw for all: then no device waits for memory of the host.
    if (are_equal) return at::full({num_samples, 1}, masks[0], options);
    return at::tensor(masks, at::kFloat).view({-1, 1}).to(options);
  }
  const tensor::DrawKey key = draw_key(base::DrawPurpose::kDropPath, index_, context);
  return tensor::keep_mask(at::empty({num_samples, 1}, options), 1.0 - rule_.rate, key,
                           context.first_position);
}

double drop_path_rate(double last, std::int64_t block, std::int64_t depth) {
  return depth > 1 ? last * static_cast<double>(block) / static_cast<double>(depth - 1) : 0.0;
}

bool draws_in_training(const torch::nn::Module& module) {
  const auto modules = module.modules(/*include_self=*/false);
  return std::ranges::any_of(modules, [](const std::shared_ptr<torch::nn::Module>& below) {
    const auto* dropout = below->as<Dropout>();
    const auto* drop_path = below->as<DropPath>();
    return (dropout != nullptr && dropout->rate() > 0) ||
           (drop_path != nullptr && drop_path->may_draw());
  });
}

}  // namespace paceline::nn
