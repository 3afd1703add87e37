#pragma once

#include "paceline/comm/nodes/node_collectives.h"
#include "support/counted_network.h"

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace paceline::comm {

/// Of a rank that has memory in common with others of its node.
struct NodeMemory {
  static constexpr std::size_t kChunkBytes = 4096;

  explicit NodeMemory(int ranks)
      : bytes(ShmCollectives::bytes_needed(ranks, kChunkBytes)), made(SharedMemory::create(bytes)) {
    for (int rank = 0; rank < ranks; ++rank) {
      opened.push_back(SharedMemory::open(made.name(), bytes));
      opened.back().mark_present(rank);
    }
  }
  std::size_t bytes;
  SharedMemory made;
  std::vector<SharedMemory> opened;
};

/// Runs `body` on one thread for each rank of a group with nodes of `sizes` ranks, whose first ones
/// are connected by `network`. What each rank threw, "" for nothing.
inline std::vector<std::string> errors_of_nodes(
    const std::vector<int>& sizes, test::CountedNetwork& network,
    const std::function<void(NodeCollectives& group)>& body) {
  std::vector<int> members;  // as ranks of a run with that many on each node
  constexpr int kRanksPerNode = 1000;
  for (int node = 0; node < static_cast<int>(sizes.size()); ++node) {
    for (int i = 0; i < sizes[static_cast<std::size_t>(node)]; ++i) {
      members.push_back(node * kRanksPerNode + i);
    }
  }
  std::vector<std::unique_ptr<NodeCollectives>> groups;
  std::optional<NodeMemory> memory;
  for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
    NodeMap map = map_nodes(members, rank, kRanksPerNode);
    const int size = map.size(map.node);
    if (map.is_first() && size > 1) memory.emplace(size);
    auto shared = size == 1
                      ? nullptr
                      : std::make_unique<ShmCollectives>(
                            std::move(memory->opened[static_cast<std::size_t>(map.place())]),
                            map.place(), size, map.first_rank(map.node), NodeMemory::kChunkBytes);
    auto links = map.is_first() && map.num_nodes() > 1
                     ? std::make_unique<NodeLinks>(network.join(map.node))
                     : nullptr;
    groups.push_back(
        std::make_unique<NodeCollectives>(std::move(map), std::move(shared), std::move(links)));
  }
  std::vector<std::string> errors(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(*groups[i]);
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
      groups[i].reset();  // as when its process is gone
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace paceline::comm
