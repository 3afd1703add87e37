#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/fwd.h"

#include <span>
#include <string>
#include <string_view>

namespace paceline::parallel {

// How all ranks learn that one of them got no gradient for a parameter, without a collective of its
// own in every step: sums start in a fixed order and wait for gradients, so the last sum of a step
// has not started on a rank that misses one. What that rank adds to it holds NaN, and so does the
// sum on every rank.

/// What gradients a step must have.
struct GradientDemand {
  std::string_view section;       ///< of the recipe, for messages
  bool as_in_first_step = false;  ///< of the same parameters; else of all
};

/// To be called before the last sum of the step starts: makes `elements` of what this rank adds to
/// it NaN.
void mark_missing_gradient(const at::Tensor& elements);

/// To be called with an element of the last sum that was marked, if any rank has marked it. If it
/// is NaN, for that reason or because gradients are, the ranks exchange `names`, the parameters
/// that break the demand on each of them. Unless there are none all ranks throw the same
/// ConfigError, which names parameters and ranks. Collective; a null communicator is one rank.
void refuse_missing_gradients(const at::Tensor& element, std::span<const std::string> names,
                              const GradientDemand& demand, comm::Communicator* communicator);

}  // namespace paceline::parallel
