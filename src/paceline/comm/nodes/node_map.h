#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::comm {

/// Which ranks of a group share a node. Nodes are numbered from 0, in the order of their ranks, and
/// the first rank of each speaks for it to the others.
struct NodeMap {
  std::vector<int> first_ranks;  ///< of each node, and the group's size behind the last
  int rank = 0;                  ///< this one's, in the group
  int node = 0;                  ///< this rank's

  int num_nodes() const { return static_cast<int>(first_ranks.size()) - 1; }
  int world_size() const { return first_ranks.back(); }
  int first_rank(int of_node) const { return first_ranks[static_cast<std::size_t>(of_node)]; }
  int size(int of_node) const { return first_rank(of_node + 1) - first_rank(of_node); }
  int place() const { return rank - first_rank(node); }  ///< among its node's ranks
  bool is_first() const { return place() == 0; }
  int node_of(int other_rank) const;
};

/// Of a group of the run's ranks `members`, in ascending order, among which this is number `rank`.
/// The run has `ranks_per_node` ranks on each node, numbered node by node.
NodeMap map_nodes(std::span<const int> members, int rank, int ranks_per_node);

}  // namespace paceline::comm
