#pragma once

#include "paceline/comm/combine.h"
#include "paceline/comm/communicator.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::comm {

/// Collectives between nodes, of which one rank each calls, over a network that can send and
/// receive. Between N nodes a rank sends
///   all_gather: ceil(log2 N) messages, and each byte of the others' parts once (Bruck et al.
///   1997); all_reduce: up to kGatheredBytes one all_gather, which it sums, so (N - 1) times the
///   bytes;
///     above that N - 1 messages, all at once, and one all_gather: twice the bytes;
///   broadcast: up to kGatheredBytes at most ceil(log2 N) messages; above that one all_gather, and
///     the source N - 1 messages before.
///
/// Sums are taken over the nodes in their order, whatever the size: the bits are the same on every
/// node and do not depend on timing.
///
/// Every node makes the same calls in the same order, one at a time. They throw when `timeout`
/// passes in one wait, a connection is lost or close() is called.
class NodeLinks {
 public:
  /// As many bytes as a network moves while it handles one message.
  static constexpr std::int64_t kGatheredBytes = 8 << 10;

  /// The network's ranks are the nodes. It must do nothing else meanwhile.
  explicit NodeLinks(c10::intrusive_ptr<c10d::Backend> network) : network_(std::move(network)) {}

  /// In place, over `numel` elements.
  void all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                  std::chrono::milliseconds timeout);
  /// `parts` tells for each node how many of the elements at `data` are its own, in their order.
  /// Afterwards this node's are the reduction over all nodes.
  void reduce_scatter(void* data, std::span<const std::int64_t> parts, Element element, ReduceOp op,
                      std::chrono::milliseconds timeout);
  /// In place: `parts` tells how many of the bytes at `data` each node brings, in their order.
  void all_gather(void* data, std::span<const std::int64_t> parts,
                  std::chrono::milliseconds timeout);
  /// In place: every node ends with the source's bytes.
  void broadcast(void* data, std::int64_t bytes, int source, std::chrono::milliseconds timeout);

  /// Cuts the connections: calls on all nodes end soon, now and later. From any thread.
  void close() noexcept;

 private:
  using Transfer = c10::intrusive_ptr<c10d::Work>;

  int node() const { return network_->getRank(); }
  int num_nodes() const { return network_->getSize(); }
  /// The node that comes `distance` after this one, in a ring.
  int after(int distance) const { return (node() + distance) % num_nodes(); }
  int before(int distance) const { return (node() - distance + num_nodes()) % num_nodes(); }

  Transfer send(int to, const std::byte* data, std::int64_t bytes);
  Transfer receive(int from, std::byte* data, std::int64_t bytes);
  void broadcast_by_tree(std::byte* data, std::int64_t bytes, int source,
                         std::chrono::milliseconds timeout);
  void broadcast_in_parts(std::byte* data, std::int64_t bytes, int source,
                          std::chrono::milliseconds timeout);

  c10::intrusive_ptr<c10d::Backend> network_;
};

}  // namespace paceline::comm
