#pragma once

#include "paceline/comm/communicator.h"

#include <functional>
#include <string_view>

namespace paceline::checkpoint {

/// Runs `work` on this rank and then lets all ranks know how it went: returns on all of them, or
/// throws the same CheckpointError on all of them, which begins with `what` and names the ranks
/// that failed and why; DivergedError where that is what they threw. `work` must not call
/// collectives. Every rank must call it.
void on_all_ranks(comm::Communicator& communicator, std::string_view what,
                  const std::function<void()>& work);

}  // namespace paceline::checkpoint
