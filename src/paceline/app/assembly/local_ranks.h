#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/data/loader/work_slots.h"
#include "paceline/metrics/process_usage.h"

#include <memory>
#include <string>
#include <vector>

namespace paceline::app {

/// The same text on all ranks that see each other's processes, those of a machine or container.
std::string process_space();

/// The ranks whose processes rank 0 can see: those on its machine, in its container. `gpu` is the
/// uuid of this rank's GPU, empty on the CPU. Every rank must call it; the answer is the same on
/// all.
std::vector<metrics::LocalRank> ranks_beside_first(comm::Communicator& communicator,
                                                   const std::string& gpu);

/// Of the ranks that see each other's processes, one slot per thread that they brought: what their
/// loaders share with data.pool: node. Every rank must call it. Throws DataError.
std::shared_ptr<const data::WorkSlots> common_slots(comm::Communicator& communicator,
                                                    int num_threads);

}  // namespace paceline::app
