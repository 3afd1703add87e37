#pragma once

#include <string_view>

namespace paceline::parallel {

/// How long a unit's gathered parameters stay.
enum class KeepFull {
  kUntilForwardEnds,   ///< FSDP: gathered again for backward
  kUntilBackwardEnds,  ///< FSDP without resharding after forward
  kAlways,             ///< ZeRO-1 and ZeRO-2: gathered once a step, never freed
};

/// What tells FSDP, HSDP, ZeRO-1 and ZeRO-2 apart.
struct ShardingPlan {
  std::string_view name;  ///< of a literal
  KeepFull keep_full = KeepFull::kUntilForwardEnds;
  /// Microbatches add up whole gradients, which are reduced once a step; else each is reduced into
  /// the shards.
  bool accumulates_full_gradients = false;
  int shard_group_size = 0;  ///< 0: all ranks
};

}  // namespace paceline::parallel
