#pragma once

#include "paceline/tensor/aten.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace paceline::nn {

/// Links the runs of a part of a forward pass that is computed again in backward, so that what must
/// happen once (running statistics move, ranks exchange theirs) happens in the first run only.
class Rerun {
 public:
  class Scope;
  using Tensors = std::vector<at::Tensor>;

  /// With `keeps_matmuls` the results of matrix products and convolutions are among what is found
  /// once (nn/matmul.h).
  explicit Rerun(bool keeps_matmuls = false) : keeps_matmuls_(keeps_matmuls) {}

  /// Whether this thread computes something again.
  static bool is_repeating();
  /// Whether this thread's run, the first or a later one, keeps them.
  static bool keeps_matmuls();

  /// What `compute` returned at this place of the first run; computes it there and outside any run.
  /// Later runs must pass the same places in the same order.
  static Tensors once(const std::function<Tensors()>& compute);

 private:
  bool keeps_matmuls_;
  std::vector<Tensors> results_;  ///< in the order of the first run's calls
  std::size_t num_taken_ = 0;     ///< by the run at hand
  bool has_run_ = false;
};

/// While it lives, this thread's work is one run of a Rerun.
class Rerun::Scope {
 public:
  explicit Scope(Rerun& rerun);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Rerun* outer_;
};

}  // namespace paceline::nn
