#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/state_shard.h"

#include <span>
#include <string>
#include <string_view>

namespace paceline::checkpoint {

/// What helps a run whose state is not finite any more.
inline constexpr std::string_view kDivergenceCure =
    "lower optimizer.lr, lengthen schedule.warmup or set train.grad_clip_norm";

/// Throws DivergedError that names them if shards of this rank hold NaN, or infinite values
/// anywhere but in buffers. One pass at the speed of memory, on this thread where they lie in host
/// memory.
void refuse_non_finite(std::span<const tensor::StateShard> shards);

/// The same question to the shards of all ranks. Returns, on all ranks alike, "2 of its tensors
/// hold NaN or infinite values: a, b", or "" if none does. Every rank must call it.
std::string find_non_finite(std::span<const tensor::StateShard> shards,
                            comm::Communicator& communicator);

}  // namespace paceline::checkpoint
