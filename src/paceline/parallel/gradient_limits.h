#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/parallel/adaptive_clipper.h"
#include "paceline/parallel/gradient_norm.h"
#include "paceline/parallel/strategy.h"

#include <optional>

namespace paceline::parallel {

/// How a recipe clips gradients: by norm, by value or both, or adaptively.
struct Clipping {
  std::optional<double> norm = {};
  std::optional<double> value = {};
  std::optional<AdaptiveClipping> adaptive = {};
};

/// Clips the gradients of every step of a run. Where clipping by norm is all that is asked for, the
/// optimizer multiplies by the factor in its own pass over memory, if it can, and gradients stay as
/// they are.
class GradientLimits {
 public:
  /// Strategy and optimizer outlive it. `watches`: on the host gradients are looked at, and clipped
  /// adaptively, as soon as backward has made them, since nobody changes or reads them before.
  GradientLimits(const Clipping& clipping, Strategy& strategy, optim::Optimizer& optimizer,
                 bool watches);

  /// Between Strategy::finish_gradients() and update(), on every rank. Returns their norm before, a
  /// float64 scalar beside them, if it clips by it or is asked for it; else an undefined tensor.
  at::Tensor apply(bool wants_norm);

 private:
  void clip_by(const at::Tensor& norm);

  Clipping clipping_;
  Strategy& strategy_;
  optim::Optimizer& optimizer_;
  std::optional<GradientNorm> norm_;  ///< where every step asks for it
  std::optional<AdaptiveClipper> adaptive_;
};

}  // namespace paceline::parallel
