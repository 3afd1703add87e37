#pragma once

#include "paceline/parallel/sharded/sharded_layout.h"
#include "paceline/parallel/sharded/sharded_schedule.h"
#include "paceline/parallel/strategy.h"

namespace paceline::parallel {

/// What a layout needs on this rank, in steps of `num_microbatches` that follow the schedule.
/// Without buffers.
StrategyMemory sharded_memory(const ShardedLayout& layout, const ScheduleOptions& options,
                              int num_microbatches);

}  // namespace paceline::parallel
