#include "paceline/nn/pass_memory/shaped_pass.h"

#include <algorithm>
#include <utility>

namespace paceline::nn {
namespace {

using Gradients = ShapeTape::Gradients;

constexpr std::int64_t kIndexWidth = 8;  // of a pool's largest
constexpr std::int64_t kFloatWidth = 4;

}  // namespace

Shaped ShapedPass::cast(const Shaped& x, std::int64_t width) {
  if (x.width == width) return x;
  return tape_.record(take(x.values, width), {x},
                      [this, values = x.values, from = x.width](Shaped /*grad*/) -> Gradients {
                        return {take(values, from)};
                      });
}

/// As autocast hands it to a product: float32 in its own type.
Shaped ShapedPass::for_matmul(const Shaped& x) {
  return options_.autocast && x.width <= kFloatWidth ? cast(x, *options_.autocast) : x;
}

Shaped ShapedPass::matmul_result(std::int64_t values, std::int64_t width) {
  if (kept_results_ == nullptr) return take(values, width);
  if (kept_results_->is_repeating) return kept_results_->results.at(kept_results_->next++);
  return kept_results_->results.emplace_back(take(values, width));
}

Shaped ShapedPass::cast_weight(std::int64_t values) {
  if (matmul_width() == options_.width || !options_.casts_weights) return {values, options_.width};
  const Shaped cast = take(values, matmul_width());
  if (caches_casts_) cast_weights_.push_back(cast);
  return cast;
}

void ShapedPass::weight_gradient(std::int64_t values, std::int64_t width) {
  const Shaped made = take(values, width);
  if (width != options_.width && options_.casts_weights) take(values, options_.width);
}

Shaped ShapedPass::linear(const Shaped& x, std::int64_t rows, std::int64_t in, std::int64_t out) {
  const Shaped input = for_matmul(x);
  const Shaped weight = cast_weight(in * out);
  const bool flows = input.wants_gradient();
  return tape_.record(
      matmul_result(rows * out, input.width), {input},
      [this, input, weight = flows ? weight : Shaped{}, flows, size = in * out](Shaped grad) {
        const Shaped of_input = flows ? take(input.values, input.width) : Shaped{};
        weight_gradient(size, grad.width);
        return Gradients{of_input};
      },
      /*has_parameters=*/true);
}

Shaped ShapedPass::convolution(const Shaped& x, std::int64_t weight, std::int64_t out,
                               std::int64_t unfolded) {
  const Shaped input = for_matmul(x);
  const Shaped cast = cast_weight(weight);
  const bool flows = input.wants_gradient();
  const Shaped result = matmul_result(out, input.width);
  take(unfolded, input.width);
  return tape_.record(
      result, {input},
      [this, input, cast, flows, weight, unfolded](Shaped grad) {
        const Shaped of_input = flows ? take(input.values, input.width) : Shaped{};
        take(unfolded, input.width);
        weight_gradient(weight, grad.width);
        return Gradients{of_input};
      },
      /*has_parameters=*/true);
}

Shaped ShapedPass::norm(const Shaped& x, std::int64_t stats) {
  const Shaped kept = take(2 * stats, kFloatWidth);
  return tape_.record(
      take(x.values, x.width), {x},
      [this, x, kept](Shaped /*grad*/) { return Gradients{take(x.values, x.width)}; },
      /*has_parameters=*/true);
}

Shaped ShapedPass::attention(const Shaped& query, const Shaped& key, const Shaped& value,
                             std::int64_t log_sum_exps) {
  const Shaped mixed = matmul_result(query.values, query.width);
  const Shaped sums = matmul_result(log_sum_exps, kFloatWidth);
  return tape_.record(mixed, {query, key, value}, [=, this](Shaped /*grad*/) {
    return Gradients{take(query.values, query.width), take(key.values, key.width),
                     take(value.values, value.width)};
  });
}

Shaped ShapedPass::max_pool(const Shaped& x, std::int64_t out) {
  const Shaped indices = take(out, kIndexWidth);
  return tape_.record(take(out, x.width), {x}, [this, x, indices](Shaped /*grad*/) {
    return Gradients{take(x.values, x.width)};
  });
}

Shaped ShapedPass::pointwise(const Shaped& x, Keeps keeps) {
  const Shaped result = take(x.values, x.width);
  Shaped kept = keeps == Keeps::kInput ? x : keeps == Keeps::kOutput ? result : Shaped{};
  return tape_.record(result, {x},
                      [this, kept, values = x.values, width = x.width](Shaped /*grad*/) {
                        return Gradients{take(values, width)};
                      });
}

// x to the power of 1, twice that, and that times the gradient.
Shaped ShapedPass::square(const Shaped& x) {
  return tape_.record(take(x.values, x.width), {x}, [this, x](Shaped /*grad*/) {
    const Shaped power = take(x.values, x.width);
    const Shaped twice = take(x.values, x.width);
    return Gradients{take(x.values, x.width)};
  });
}

Shaped ShapedPass::sum(const Shaped& a, const Shaped& b) {
  return tape_.record(take(a.values, std::max(a.width, b.width)), {a, b}, [](Shaped grad) {
    return Gradients{grad, grad};
  });
}

Shaped ShapedPass::plus_parameter(const Shaped& x, std::int64_t parameter) {
  return tape_.record(
      take(x.values, std::max(x.width, options_.width)), {x},
      [this, parameter](Shaped grad) {
        weight_gradient(parameter, grad.width);
        return Gradients{grad};
      },
      /*has_parameters=*/true);
}

Shaped ShapedPass::product(const Shaped& x, const Shaped& factors) {
  const Shaped result = take(x.values, std::max(x.width, factors.width));
  const Shaped kept_x = factors.wants_gradient() ? x : Shaped{};
  return tape_.record(result, {x, factors},
                      [this, kept_x, factors, values = x.values](Shaped grad) {
                        const Shaped of_x = take(values, grad.width);
                        if (kept_x.values == 0) return Gradients{of_x, {}};
                        const Shaped spread = take(values, grad.width);
                        return Gradients{of_x, take(factors.values, factors.width)};
                      });
}

Shaped ShapedPass::rearranged(const Shaped& x) { return pointwise(x, Keeps::kNothing); }

Shaped ShapedPass::pooled(const Shaped& x, std::int64_t out, std::int64_t width) {
  return tape_.record(take(out, width), {x},
                      [this, values = x.values, to = x.width](Shaped /*grad*/) {
                        return Gradients{take(values, to)};
                      });
}

Shaped ShapedPass::stacked(const std::vector<Shaped>& parts, std::int64_t values) {
  std::int64_t width = 0;
  for (const Shaped& part : parts) width = std::max(width, part.width);
  std::vector<std::int64_t> sizes;
  for (const Shaped& part : parts) sizes.push_back(part.values);
  return tape_.record(take(values, width), parts, [sizes](Shaped grad) {
    Gradients grads;
    for (const std::int64_t size : sizes) {
      grads.push_back(grad);
      grads.back().values = size;
    }
    return grads;
  });
}

Shaped ShapedPass::unit(const std::vector<Shaped>& inputs, const Unit& compute) {
  const bool is_again = options_.checkpoint_every > 0 &&
                        num_units_++ % options_.checkpoint_every == 0 && tape_.is_recording();
  if (!is_again) return compute(inputs);
  const auto kept = std::make_shared<KeptMatmuls>();
  const Shaped output = run_unit(inputs, compute, *kept, /*is_recording=*/false);
  return tape_.record(
      output, inputs,
      [=, this](Shaped grad) {
        std::vector<Shaped> leaves;
        for (const Shaped& input : inputs)
          leaves.push_back(input.wants_gradient() ? tape_.leaf(input) : input);
        const std::size_t since = tape_.position();
        kept->is_repeating = true;
        const Shaped again = run_unit(leaves, compute, *kept, /*is_recording=*/true);
        tape_.backward(again, grad, since);
        Gradients grads;
        for (const Shaped& leaf : leaves) grads.push_back(tape_.gradient_of(leaf));
        return grads;
      },
      /*has_parameters=*/true);
}

/// As a checkpoint runs it, without autocast's cache.
Shaped ShapedPass::run_unit(const std::vector<Shaped>& inputs, const Unit& compute,
                            KeptMatmuls& kept, bool is_recording) {
  kept_results_ = options_.kept == KeptResults::kMatmuls ? &kept : nullptr;
  caches_casts_ = false;
  tape_.set_recording(is_recording);
  Shaped output = compute(inputs);
  tape_.set_recording(true);
  caches_casts_ = true;
  kept_results_ = nullptr;
  return output;
}

std::int64_t ShapedPass::backward(const Shaped& loss) {
  tape_.backward(loss, take(1, loss.width), /*since=*/0);
  return tape_.peak();
}

}  // namespace paceline::nn
