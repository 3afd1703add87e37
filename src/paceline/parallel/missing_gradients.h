#pragma once

#include "paceline/comm/communicator.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::parallel {

// Every rank knows after backward which parameters got no gradient of its own, and none what its
// peers lack. Values of gradients cannot tell: they may be NaN for other reasons, and where they
// are sharded not on all ranks. So a flag goes with a sum that all ranks take part in in every
// step, and only if it says so do they all ask each other for names.

/// What gradients a step must have.
struct GradientDemand {
  std::string_view section;       ///< of the recipe, for messages
  bool as_in_first_step = false;  ///< of the same parameters; else of all
};

/// Parameters of this rank that break the demand.
struct MissingGradients {
  std::vector<std::string> names;
  GradientDemand demand;
};

/// To be called on every rank once all know that one of them has some: all throw the same
/// ConfigError, which names parameters and ranks. Collective; a null communicator is one rank.
[[noreturn]] void refuse_missing_gradients(const MissingGradients& missing,
                                           comm::Communicator* communicator);

}  // namespace paceline::parallel
