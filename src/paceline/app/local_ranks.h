#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/metrics/process_usage.h"

#include <string>
#include <vector>

namespace paceline::app {

/// The ranks whose processes rank 0 can see: those on its machine, in its container. `gpu` is the
/// uuid of this rank's GPU, empty on the CPU. Every rank must call it; the answer is the same on
/// all.
std::vector<metrics::LocalRank> ranks_beside_first(comm::Communicator& communicator,
                                                   const std::string& gpu);

}  // namespace paceline::app
