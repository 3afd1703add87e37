#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/state_shard.h"

#include <span>

namespace paceline::checkpoint {

/// Compares the shards that several ranks hold, by their hashes; those with is_replicated must be
/// the same bits on all of them. Every rank must call it. Throws, on all ranks, DivergedError that
/// names the tensors and the ranks.
void check_replicas(std::span<const tensor::StateShard> shards, comm::Communicator& communicator);

}  // namespace paceline::checkpoint
