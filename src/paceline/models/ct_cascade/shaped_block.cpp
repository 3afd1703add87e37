#include "paceline/models/ct_cascade/shaped_block.h"

#include <array>
#include <utility>

namespace paceline::models {
namespace {

using nn::Shaped;
using nn::ShapedPass;
using Gradients = nn::ShapeTape::Gradients;
using Keeps = ShapedPass::Keeps;

constexpr std::int64_t kFloatWidth = 4;
constexpr std::int64_t kModulationsOfBlock = 9;
constexpr std::int64_t kHidden = 4;  // times dim
constexpr std::size_t kBranchesOfBlock = 3;

/// The sizes of a block.
struct BlockSizes {
  std::int64_t samples = 0;
  std::int64_t rows = 0;       ///< tokens of all samples
  std::int64_t xray_rows = 0;  ///< likewise
  std::int64_t dim = 0;
  std::int64_t heads = 0;

  std::int64_t values() const { return rows * dim; }
  std::int64_t log_sum_exps() const { return rows * heads; }
};

/// What a fused block keeps of a branch.
struct KeptBranch {
  Shaped input, stats, modulated, gated;
};

/// What a fused block keeps.
struct KeptBlock {
  std::array<KeptBranch, kBranchesOfBlock> branches;
  Shaped condition, keys_values, modulations;
  Shaped qkv, self_mixed, self_sums, query, cross_mixed, cross_sums, hidden, activated;
};

/// fused_denoiser_block.cpp step by step, its steps by the names that they have there.
class FusedPass {
 public:
  FusedPass(const BlockSizes& sizes, std::int64_t rows_width, ShapedPass& pass)
      : sizes_(sizes), wide_(rows_width), narrow_(pass.matmul_width()), pass_(pass) {}

  Shaped forward(const std::vector<Shaped>& inputs, KeptBlock& kept) const;
  Gradients backward(const Shaped& grad, const KeptBlock& kept) const;

 private:
  Shaped wide() const { return pass_.take(sizes_.values(), wide_); }
  Shaped narrow(std::int64_t times = 1) const {
    return pass_.take(times * sizes_.values(), narrow_);
  }
  /// A cast from the rows' type to that of products.
  Shaped narrowed(const Shaped& x) const { return wide_ == narrow_ ? x : narrow(); }
  Shaped widened(const Shaped& x) const { return wide_ == narrow_ ? x : wide(); }
  Shaped cast_weight(std::int64_t times) const {
    const std::int64_t values = times * sizes_.dim * sizes_.dim;
    return wide_ == narrow_ ? Shaped{values, wide_} : pass_.take(values, narrow_);
  }

  /// In which a GPU's kernel adds up the gradient of queries.
  Shaped attention_sums() const {
    return pass_.options().is_on_gpu ? pass_.take(sizes_.values(), kFloatWidth) : Shaped{};
  }

  Shaped enter(const Shaped& x, KeptBranch& branch) const;
  Shaped leave(Shaped branch_end, KeptBranch& branch) const;
  Shaped product(std::int64_t rows_times, std::int64_t weight_times) const {
    const Shaped weight = cast_weight(weight_times);
    return narrow(rows_times);
  }
  /// Gives the gradient of an input `in` times as wide as a token; leaves a weight's at `weights`.
  Shaped product_backward(std::int64_t in, std::int64_t weight_times,
                          std::vector<Shaped>& weights) const;
  Shaped leave_backward(const Shaped& grad) const;
  Shaped enter_backward(const Shaped& grad) const;
  Shaped mlp_backward(const Shaped& grad, std::vector<Shaped>& weights) const;
  std::pair<Shaped, Shaped> cross_backward(const Shaped& grad, const KeptBlock& kept,
                                           std::vector<Shaped>& weights) const;
  Shaped self_backward(const Shaped& grad, std::vector<Shaped>& weights) const;

  BlockSizes sizes_;
  std::int64_t wide_;
  std::int64_t narrow_;
  ShapedPass& pass_;
};

Shaped FusedPass::enter(const Shaped& x, KeptBranch& branch) const {
  branch.input = x;
  const Shaped normed = wide();
  branch.stats = pass_.take(2 * sizes_.rows, kFloatWidth);
  const Shaped scaled = wide();
  const Shaped shifted = wide();
  branch.modulated = narrowed(shifted);
  return branch.modulated;
}

Shaped FusedPass::leave(Shaped branch_end, KeptBranch& branch) const {
  branch.gated = std::move(branch_end);
  const Shaped scaled = narrow();
  return wide();
}

Shaped FusedPass::forward(const std::vector<Shaped>& inputs, KeptBlock& kept) const {
  kept.condition = inputs[1];
  kept.keys_values = inputs[2];
  {
    const Shaped weight = cast_weight(kModulationsOfBlock);
    kept.modulations = pass_.take(sizes_.samples * kModulationsOfBlock * sizes_.dim, narrow_);
  }
  auto& [self, cross, mlp] = kept.branches;
  enter(inputs[0], self);
  kept.qkv = product(3, 3);
  kept.self_mixed = narrow();
  kept.self_sums = pass_.take(sizes_.log_sum_exps(), kFloatWidth);
  const Shaped y = leave(product(1, 1), self);
  enter(y, cross);
  kept.query = product(1, 1);
  const Shaped keys_values =
      kept.keys_values.width == narrow_ ? Shaped{} : pass_.take(kept.keys_values.values, narrow_);
  kept.cross_mixed = narrow();
  kept.cross_sums = pass_.take(sizes_.log_sum_exps(), kFloatWidth);
  const Shaped z = leave(product(1, 1), cross);
  enter(z, mlp);
  kept.hidden = product(kHidden, kHidden);
  kept.activated = narrow(kHidden);
  return leave(product(1, kHidden), mlp);
}

Shaped FusedPass::product_backward(std::int64_t in, std::int64_t weight_times,
                                   std::vector<Shaped>& weights) const {
  {
    const Shaped made = pass_.take(weight_times * sizes_.dim * sizes_.dim, narrow_);
    weights.push_back(wide_ == narrow_ ? made : pass_.take(made.values, wide_));
  }
  const Shaped weight = cast_weight(weight_times);
  return narrow(in);
}

Shaped FusedPass::leave_backward(const Shaped& grad) const {
  const Shaped cast = narrowed(grad);
  { const Shaped gated = narrow(); }
  return narrow();
}

Shaped FusedPass::enter_backward(const Shaped& grad) const {
  const Shaped cast = widened(grad);
  {
    const Shaped centred = wide();
    const Shaped normed = wide();
    const Shaped product = wide();
  }
  Shaped of_input;
  {
    const Shaped scaled = wide();
    of_input = wide();
  }
  return wide();
}

Shaped FusedPass::mlp_backward(const Shaped& grad, std::vector<Shaped>& weights) const {
  Shaped inner = leave_backward(grad);
  inner = product_backward(kHidden, kHidden, weights);
  inner = narrow(kHidden);  // of GELU
  inner = product_backward(1, kHidden, weights);
  return enter_backward(inner);
}

std::pair<Shaped, Shaped> FusedPass::cross_backward(const Shaped& grad, const KeptBlock& kept,
                                                    std::vector<Shaped>& weights) const {
  const auto of_xrays = [&](std::int64_t width) {
    return pass_.take(kept.keys_values.values, width);
  };
  Shaped inner = leave_backward(grad);
  inner = product_backward(1, 1, weights);
  const Shaped keys_values = kept.keys_values.width == narrow_ ? Shaped{} : of_xrays(narrow_);
  const Shaped of_query = narrow();
  const Shaped of_keys_values = of_xrays(narrow_);
  { const Shaped sums = attention_sums(); }
  {
    const Shaped joined = narrow();
    inner = product_backward(1, 1, weights);
  }
  const Shaped before = enter_backward(inner);
  Shaped joined = of_xrays(narrow_);
  return {before, kept.keys_values.width == narrow_ ? joined : of_xrays(kept.keys_values.width)};
}

Shaped FusedPass::self_backward(const Shaped& grad, std::vector<Shaped>& weights) const {
  Shaped inner = leave_backward(grad);
  inner = product_backward(1, 1, weights);
  {
    Shaped joined;
    {
      const Shaped of_parts = narrow(3);
      { const Shaped sums = attention_sums(); }
      joined = narrow(3);
    }
    inner = std::move(joined);
  }
  inner = product_backward(1, 3, weights);
  return enter_backward(inner);
}

Gradients FusedPass::backward(const Shaped& grad, const KeptBlock& kept) const {
  std::vector<Shaped> weights;
  const Shaped behind_cross = mlp_backward(grad, weights);
  const auto [behind_self, of_keys_values] = cross_backward(behind_cross, kept, weights);
  Gradients all{self_backward(behind_self, weights),
                pass_.take(sizes_.samples * sizes_.dim, kept.condition.width), of_keys_values};
  const Shaped made = pass_.take(kModulationsOfBlock * sizes_.dim * sizes_.dim, narrow_);
  if (wide_ != narrow_) weights.push_back(pass_.take(made.values, wide_));
  return all;
}

Shaped fused(const BlockSizes& sizes, const std::vector<Shaped>& inputs, ShapedPass& pass) {
  const FusedPass fused(sizes, inputs[0].width, pass);
  auto kept = std::make_shared<KeptBlock>();
  const Shaped output = fused.forward(inputs, *kept);
  return pass.tape().record(
      output, inputs, [fused, kept](Shaped grad) { return fused.backward(grad, *kept); },
      /*has_parameters=*/true);
}

/// One of so many parts that a tensor is split into, whose gradients are joined in a copy.
Shaped one_of(const Shaped& joined, std::int64_t count, ShapedPass& pass) {
  Shaped part = joined;
  part.values /= count;
  return pass.tape().record(part, {joined}, [&pass, count, values = joined.values](Shaped grad) {
    const Shaped others = pass.take(values / count * (count - 1), grad.width);
    return Gradients{pass.take(values, grad.width)};
  });
}

Shaped by_operations(const BlockSizes& sizes, const std::vector<Shaped>& inputs, ShapedPass& pass) {
  const std::int64_t dim = sizes.dim;
  const Shaped modulations = pass.linear(inputs[1], sizes.samples, dim, kModulationsOfBlock * dim);
  Shaped factors = modulations;
  factors.values = sizes.samples * dim;
  const auto normed = [&](const Shaped& x) {
    return shaped_modulated_norm(x, factors, sizes.rows, pass);
  };
  const auto add = [&](const Shaped& x, const Shaped& end) {
    return pass.sum(x, pass.product(end, factors));
  };
  Shaped x = inputs[0];
  {
    const Shaped entered = normed(x);
    const Shaped qkv = pass.linear(entered, sizes.rows, dim, 3 * dim);
    const Shaped one = one_of(qkv, 3, pass);
    const Shaped mixed = pass.attention(one, one, one, sizes.log_sum_exps());
    x = add(x, pass.linear(mixed, sizes.rows, dim, dim));
  }
  {
    const Shaped query = pass.linear(normed(x), sizes.rows, dim, dim);
    const Shaped keys = one_of(inputs[2], 2, pass);
    const Shaped mixed = pass.attention(query, keys, keys, sizes.log_sum_exps());
    x = add(x, pass.linear(mixed, sizes.rows, dim, dim));
  }
  const Shaped hidden = pass.linear(normed(x), sizes.rows, dim, kHidden * dim);
  const Shaped activated = pass.pointwise(hidden, Keeps::kInput);
  return add(x, pass.linear(activated, sizes.rows, kHidden * dim, dim));
}

}  // namespace

Shaped shaped_modulated_norm(const Shaped& rows, const Shaped& factors, std::int64_t num_rows,
                             ShapedPass& pass) {
  const Shaped normed = pass.norm(pass.as_norms_see(rows), num_rows);
  const Shaped scaled = pass.product(normed, factors);
  return pass.sum(scaled, Shaped{scaled.values, factors.width});
}

Shaped shaped_block(const DenoiserBlockConfig& config, const DenoiserShape& shape,
                    const std::vector<Shaped>& inputs, ShapedPass& pass) {
  const BlockSizes sizes{.samples = shape.batch,
                         .rows = shape.batch * shape.tokens,
                         .xray_rows = shape.batch * shape.xray_tokens,
                         .dim = config.dim,
                         .heads = config.num_heads};
  const bool are_alike = !pass.options().autocast || pass.options().casts_weights;
  const bool is_fused = config.fused != FusedMode::kOff && are_alike && !pass.keeps_matmuls();
  return is_fused ? fused(sizes, inputs, pass) : by_operations(sizes, inputs, pass);
}

}  // namespace paceline::models
