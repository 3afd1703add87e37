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

/// 0 or 1 / keep for each element of `like`, whose dimension 0 counts samples.
at::Tensor scaled_mask(const at::Tensor& like, double rate, base::DrawPurpose purpose,
                       std::uint64_t index, const ForwardContext& context) {
  const double keep = 1.0 - rate;
  const tensor::DrawKey key{.seed = context.seed,
                            .purpose = purpose,
                            .group = static_cast<std::uint64_t>(context.step),
                            .index = index};
  const at::Tensor mask = tensor::keep_mask(like, keep, key, context.first_position);
  return keep > 0.0 ? mask.mul_(1.0 / keep) : mask;
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
  return scaled_mask(like, rate_, base::DrawPurpose::kDropout, index_, context).view(sizes);
}

DropPath::DropPath(double rate, std::uint64_t index) : rate_(rate), index_(index) {
  check_rate(rate);
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
  const at::Tensor like = at::empty({num_samples, 1}, options);
  return scaled_mask(like, rate_, base::DrawPurpose::kDropPath, index_, context);
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
           (drop_path != nullptr && drop_path->rate() > 0);
  });
}

}  // namespace paceline::nn
