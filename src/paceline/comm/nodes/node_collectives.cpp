#include "paceline/comm/nodes/node_collectives.h"

#include <cstring>
#include <vector>

namespace paceline::comm {

using std::chrono::milliseconds;

void NodeCollectives::attempt(const std::function<void()>& call) {
  try {
    call();
  } catch (...) {
    if (memory_) memory_->give_up();
    if (links_) links_->close();
    throw;
  }
}

void NodeCollectives::spread(const void* source, std::int64_t bytes, void* target,
                             ShmCollectives::Window wanted, milliseconds timeout) {
  if (memory_) {
    memory_->fetch(0, source, bytes, target, wanted, timeout);
  } else if (const auto* const from = static_cast<const std::byte*>(source) + wanted.begin;
             from != target) {
    std::memcpy(target, from, static_cast<std::size_t>(wanted.end - wanted.begin));
  }
}

void NodeCollectives::all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                                 milliseconds timeout) {
  attempt([&] {
    if (map_.num_nodes() == 1) return memory_->all_reduce(data, numel, element, op, timeout);
    if (memory_) {
      memory_->reduce(map_.is_first() ? data : nullptr, data, numel, element, op, timeout);
    }
    if (links_) links_->all_reduce(data, numel, element, op, timeout);
    const std::int64_t bytes = numel * size_of(element);
    spread(data, bytes, data, {0, bytes}, timeout);
  });
}

void NodeCollectives::reduce_scatter(void* output, const void* input, std::int64_t numel,
                                     Element element, milliseconds timeout) {
  attempt([&] {
    if (map_.num_nodes() == 1) {
      return memory_->reduce_scatter(output, input, numel, element, timeout);
    }
    const std::int64_t slice = numel * size_of(element);
    const std::int64_t whole = map_.world_size() * numel;
    std::vector<std::byte> sums(
        map_.is_first() ? static_cast<std::size_t>(map_.world_size() * slice) : 0);
    if (memory_) {
      memory_->reduce(map_.is_first() ? sums.data() : nullptr, input, whole, element,
                      ReduceOp::kSum, timeout);
    } else {
      std::memcpy(sums.data(), input, sums.size());
    }
    if (links_) {
      std::vector<std::int64_t> parts;
      for (int node = 0; node < map_.num_nodes(); ++node) parts.push_back(map_.size(node) * numel);
      links_->reduce_scatter(sums.data(), parts, element, ReduceOp::kSum, timeout);
    }
    const std::byte* const of_node =
        map_.is_first() ? sums.data() + map_.first_rank(map_.node) * slice : nullptr;
    spread(of_node, map_.size(map_.node) * slice, output,
           {map_.place() * slice, (map_.place() + 1) * slice}, timeout);
  });
}

void NodeCollectives::all_gather(void* output, const void* input, std::int64_t bytes,
                                 milliseconds timeout) {
  attempt([&] {
    std::byte* const of_node = static_cast<std::byte*>(output) + map_.first_rank(map_.node) * bytes;
    if (memory_) {
      memory_->all_gather(of_node, input, bytes, timeout);
    } else if (of_node != input) {
      std::memcpy(of_node, input, static_cast<std::size_t>(bytes));
    }
    if (map_.num_nodes() == 1) return;
    if (links_) {
      std::vector<std::int64_t> parts;
      for (int node = 0; node < map_.num_nodes(); ++node) parts.push_back(map_.size(node) * bytes);
      links_->all_gather(output, parts, timeout);
    }
    const std::int64_t all = map_.world_size() * bytes;
    spread(output, all, output, {0, all}, timeout);
  });
}

void NodeCollectives::broadcast(void* data, std::int64_t bytes, int source_rank,
                                milliseconds timeout) {
  attempt([&] {
    const int source_node = map_.node_of(source_rank);
    if (memory_ && map_.node == source_node) {
      memory_->fetch(source_rank - map_.first_rank(source_node), data, bytes, data, {0, bytes},
                     timeout);
    }
    if (links_) links_->broadcast(data, bytes, source_node, timeout);
    if (map_.node != source_node) spread(data, bytes, data, {0, bytes}, timeout);
  });
}

void NodeCollectives::stop() {
  if (memory_) memory_->stop();
  if (links_) links_->close();
}

}  // namespace paceline::comm
