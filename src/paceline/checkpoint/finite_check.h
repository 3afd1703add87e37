#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/state_shard.h"

#include <span>
#include <string>

namespace paceline::checkpoint {

/// Looks for NaN, and for infinite values anywhere but in buffers, in the shards of all ranks: one
/// pass at the speed of memory. Returns, on all ranks alike, "2 of its tensors hold NaN or infinite
/// values: a, b", or "" if none does. Every rank must call it.
std::string find_non_finite(std::span<const tensor::StateShard> shards,
                            comm::Communicator& communicator);

}  // namespace paceline::checkpoint
