#pragma once

#include "paceline/comm/nodes/node_collectives.h"

#include <chrono>
#include <functional>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// Connects `world_size` ranks, among which this one is number `rank`. Each must call it; `store`
/// is theirs alone.
using NetworkFactory = std::function<c10::intrusive_ptr<c10d::Backend>(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size)>;

/// A group for tensors in host memory, by NodeCollectives on a thread of its own: all_reduce,
/// _reduce_scatter_base, _allgather_base, broadcast and barrier. float16 and bfloat16 are reduced
/// as float32 and rounded once, bool and other integers as int64.
///
/// Every rank must call it; `store` must be this group's own. `connect` is called by each node's
/// first rank, if there are several nodes. Where one rank cannot have its node's memory (another
/// host or container, no memory), which that rank logs, each rank counts as a node of its own.
/// Throws what `connect` and the store throw, after `timeout` for what does not come.
c10::intrusive_ptr<c10d::Backend> make_node_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const NodeMap& map,
                                                    const NetworkFactory& connect,
                                                    std::chrono::milliseconds timeout);

/// Whether the backend is one of make_node_backend's, whose reduce_scatter adds in the order of
/// NodeCollectives, in float32 or wider.
bool knows_nodes(const c10d::Backend& backend);

}  // namespace paceline::comm
