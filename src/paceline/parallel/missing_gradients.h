#pragma once

#include "paceline/comm/communicator.h"

#include <span>
#include <string>
#include <string_view>

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

/// To be called on every rank once all know that one of them has `names`, parameters that break the
/// demand: all throw the same ConfigError, which names parameters and ranks. Collective; a null
/// communicator is one rank.
[[noreturn]] void refuse_missing_gradients(std::span<const std::string> names,
                                           const GradientDemand& demand,
                                           comm::Communicator* communicator);

}  // namespace paceline::parallel
