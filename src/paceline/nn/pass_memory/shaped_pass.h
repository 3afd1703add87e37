#pragma once

#include "paceline/nn/activation_checkpoint.h"
#include "paceline/nn/pass_memory/shape_tape.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace paceline::nn {

/// What the memory of a training pass depends on besides network and task.
struct PassOptions {
  std::int64_t samples = 1;
  std::int64_t width = 4;                     ///< bytes of a weight, and of a number of the batch
  std::optional<std::int64_t> autocast = {};  ///< bytes of what autocast computes in
  /// Whether weights lie there in `width`, so that autocast makes copies of them; else in its own.
  bool casts_weights = true;
  bool is_on_gpu = false;                 ///< which operations autocast leaves in float32
  int checkpoint_every = 0;               ///< set_activation_checkpointing()'s; 0: never
  KeptResults kept = KeptResults::kNone;  ///< likewise
};

/// Forward and backward of a network of which only the memory counts, operation by operation: each
/// makes what the one of its name in LibTorch or nn makes, keeps what autograd keeps and has its
/// gradients take what they take. Parameters' gradients last as long as a strategy leaves them
/// where they were made; autocast's copies of parameters until end_forward(). Scratch memory of
/// libraries is none of it.
class ShapedPass {
 public:
  explicit ShapedPass(const PassOptions& options) : options_(options) {}
  ShapedPass(const ShapedPass&) = delete;
  ShapedPass& operator=(const ShapedPass&) = delete;

  const PassOptions& options() const { return options_; }
  ShapeTape& tape() { return tape_; }
  Shaped take(std::int64_t values, std::int64_t width) { return tape_.take(values, width); }
  /// A part of the batch, which is there already.
  Shaped given(std::int64_t values) const { return {values, options_.width}; }
  /// The width of autocast's operations, or the weights'.
  std::int64_t matmul_width() const { return options_.autocast.value_or(options_.width); }

  Shaped cast(const Shaped& x, std::int64_t width);
  /// Float32 where it was narrower.
  Shaped at_least_float(const Shaped& x) { return cast(x, x.width < 4 ? 4 : x.width); }
  /// As the operations that a GPU's autocast keeps in float32 see it.
  Shaped as_norms_see(const Shaped& x) { return is_float_kept() ? at_least_float(x) : x; }

  Shaped linear(const Shaped& x, std::int64_t rows, std::int64_t in, std::int64_t out);
  /// `weight`: how many values it has; `unfolded`: those that its input is spread to meanwhile.
  Shaped convolution(const Shaped& x, std::int64_t weight, std::int64_t out,
                     std::int64_t unfolded = 0);
  /// In the type of x, without parameters that count; `stats` means and as many deviations.
  Shaped norm(const Shaped& x, std::int64_t stats);
  /// Attention of [samples * tokens, heads * dim] and so on by a kernel.
  Shaped attention(const Shaped& query, const Shaped& key, const Shaped& value,
                   std::int64_t log_sum_exps);
  Shaped max_pool(const Shaped& x, std::int64_t out);

  /// An operation on each value: of its gradient it keeps its input, its result or neither.
  enum class Keeps { kInput, kOutput, kNothing };
  Shaped pointwise(const Shaped& x, Keeps keeps);
  /// Its square.
  Shaped square(const Shaped& x);
  /// Of two of one size; the wider type's.
  Shaped sum(const Shaped& a, const Shaped& b);
  /// x plus a parameter that is spread over it.
  Shaped plus_parameter(const Shaped& x, std::int64_t parameter);
  /// x times another, smaller tensor that is spread over it.
  Shaped product(const Shaped& x, const Shaped& factors);
  /// The same values in another order; the way back is one copy too.
  Shaped rearranged(const Shaped& x);
  /// Fewer values, `out`, that are made of all of x, as means are; only sizes are kept.
  Shaped pooled(const Shaped& x, std::int64_t out, std::int64_t width);
  /// at::stack of tensors, whose gradients are views of one.
  Shaped stacked(const std::vector<Shaped>& parts, std::int64_t values);

  /// One run of a Unit, which a checkpoint may compute again: the units must run in registration
  /// order, of all of a network first `skip_units` that do not run.
  using Unit = std::function<Shaped(const std::vector<Shaped>& inputs)>;
  Shaped unit(const std::vector<Shaped>& inputs, const Unit& compute);
  void skip_units(std::int64_t count) { num_units_ += count; }
  /// Whether such a unit keeps matmuls.
  bool keeps_matmuls() const { return kept_results_ != nullptr; }

  /// A parameter's gradient, made in the type of the products, cast and moved away.
  void weight_gradient(std::int64_t values, std::int64_t width);
  /// Autocast's copy of a parameter of so many values.
  Shaped cast_weight(std::int64_t values);

  void end_forward() { cast_weights_.clear(); }
  /// Of the sum of losses; gives the most that was held at once.
  std::int64_t backward(const Shaped& loss);

 private:
  struct KeptMatmuls {
    std::vector<Shaped> results;
    std::size_t next = 0;
    bool is_repeating = false;
  };
  bool is_float_kept() const { return options_.is_on_gpu && options_.autocast; }
  Shaped for_matmul(const Shaped& x);
  Shaped matmul_result(std::int64_t values, std::int64_t width);
  Shaped run_unit(const std::vector<Shaped>& inputs, const Unit& compute, KeptMatmuls& kept,
                  bool is_recording);

  PassOptions options_;
  ShapeTape tape_;
  std::vector<Shaped> cast_weights_;
  KeptMatmuls* kept_results_ = nullptr;
  bool caches_casts_ = true;
  std::int64_t num_units_ = 0;
};

}  // namespace paceline::nn
