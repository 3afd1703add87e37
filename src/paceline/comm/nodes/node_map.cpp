#include "paceline/comm/nodes/node_map.h"

#include <algorithm>

namespace paceline::comm {

int NodeMap::node_of(int other_rank) const {
  const auto next = std::ranges::upper_bound(first_ranks, other_rank);
  return static_cast<int>(next - first_ranks.begin()) - 1;
}

NodeMap map_nodes(std::span<const int> members, int rank, int ranks_per_node) {
  NodeMap map{.first_ranks = {}, .rank = rank, .node = 0};
  int last_node = -1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int node = members[i] / ranks_per_node;
    if (node != last_node) map.first_ranks.push_back(static_cast<int>(i));
    last_node = node;
  }
  map.first_ranks.push_back(static_cast<int>(members.size()));
  map.node = map.node_of(rank);
  return map;
}

}  // namespace paceline::comm
