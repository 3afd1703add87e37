#pragma once

#include "paceline/comm/combine.h"
#include "paceline/comm/communicator.h"
#include "paceline/comm/nodes/node_links.h"
#include "paceline/comm/nodes/node_map.h"
#include "paceline/comm/shm/shm_collectives.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace paceline::comm {

/// Collectives of a group that knows its nodes: the ranks of one move data through the memory that
/// they share, and the first rank of each exchanges them with the other nodes. A rank of N nodes
/// thus waits for O(log N) messages one after another, and only the first ones have connections.
///
/// Sums are taken on each node over its ranks in their order, and then over the nodes in theirs:
/// the result has the same bits on every rank and does not depend on timing.
///
/// Every rank makes the same calls in the same order, one at a time. They throw when the ranks'
/// calls differ, a rank is gone or has failed, `timeout` passes in one wait or stop() is called.
/// After that the group is unusable, which the other ranks learn within moments.
class NodeCollectives {
 public:
  /// `memory` is null where a rank is alone on its node, `links` where it is not the first there or
  /// there is one node.
  NodeCollectives(NodeMap map, std::unique_ptr<ShmCollectives> memory,
                  std::unique_ptr<NodeLinks> links)
      : map_(std::move(map)), memory_(std::move(memory)), links_(std::move(links)) {}

  const NodeMap& map() const { return map_; }

  /// In place, over `numel` elements.
  void all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                  std::chrono::milliseconds timeout);
  /// Sums slices of `numel` elements: `output` receives this rank's, of `input` with one for each
  /// rank.
  void reduce_scatter(void* output, const void* input, std::int64_t numel, Element element,
                      std::chrono::milliseconds timeout);
  /// `output` receives the `bytes` at every rank's `input`, ordered by rank. The input may be its
  /// own place in the output.
  void all_gather(void* output, const void* input, std::int64_t bytes,
                  std::chrono::milliseconds timeout);
  /// In place: every rank ends with the source rank's bytes.
  void broadcast(void* data, std::int64_t bytes, int source_rank,
                 std::chrono::milliseconds timeout);

  /// Ends a call on another thread soon, and all later ones.
  void stop();

 private:
  void attempt(const std::function<void()>& call);
  /// The first rank's bytes, or part of them, for all ranks of the node.
  void spread(const void* source, std::int64_t bytes, void* target, ShmCollectives::Window wanted,
              std::chrono::milliseconds timeout);

  NodeMap map_;
  std::unique_ptr<ShmCollectives> memory_;
  std::unique_ptr<NodeLinks> links_;
};

}  // namespace paceline::comm
