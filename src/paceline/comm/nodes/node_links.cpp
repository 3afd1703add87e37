#include "paceline/comm/nodes/node_links.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;

constexpr int kTag = 1;  // between two nodes messages arrive in the order of the calls
constexpr int kNeverSentTag = 2;

/// Where each part begins, and where the last one ends.
std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> parts) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t part : parts) offsets.push_back(offsets.back() + part);
  return offsets;
}

/// `whole` in `count` parts whose sizes differ by one at most.
std::vector<std::int64_t> even_parts(std::int64_t whole, int count) {
  std::vector<std::int64_t> parts;
  for (int i = 0; i < count; ++i) parts.push_back(whole * (i + 1) / count - whole * i / count);
  return parts;
}

std::unique_ptr<std::byte[]> buffer_of(std::int64_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
}

void await(const c10::intrusive_ptr<c10d::Work>& transfer, milliseconds timeout) {
  if (transfer != nullptr && !transfer->wait(timeout)) {
    throw base::CommError("the communicator is being closed");
  }
}

void await_all(const std::vector<c10::intrusive_ptr<c10d::Work>>& transfers, milliseconds timeout) {
  for (const auto& transfer : transfers) await(transfer, timeout);
}

}  // namespace

NodeLinks::Transfer NodeLinks::send(int to, const std::byte* data, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  std::vector<at::Tensor> message{at::from_blob(const_cast<std::byte*>(data), {bytes}, at::kByte)};
  return network_->send(message, to, kTag);
}

NodeLinks::Transfer NodeLinks::receive(int from, std::byte* data, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  std::vector<at::Tensor> message{at::from_blob(data, {bytes}, at::kByte)};
  return network_->recv(message, from, kTag);
}

// Parts lie in the order of a ring that begins with the own one. In a round a node has the first
// `distance` of them and gets as many again from the node that far away, which has those first.
void NodeLinks::all_gather(void* data, std::span<const std::int64_t> parts, milliseconds timeout) {
  std::vector<std::int64_t> ring_parts(parts.begin(), parts.end());
  std::ranges::rotate(ring_parts, ring_parts.begin() + node());
  const std::vector<std::int64_t> offsets = offsets_of(ring_parts);
  const auto offset = [&](int i) { return offsets[static_cast<std::size_t>(i)]; };
  const auto ring = buffer_of(offset(num_nodes()));
  auto* const bytes = static_cast<std::byte*>(data);
  const std::int64_t own_begin = offsets_of(parts)[static_cast<std::size_t>(node())];
  std::copy_n(bytes + own_begin, offset(1), ring.get());

  const auto moved = [&](int distance) { return std::min(distance, num_nodes() - distance); };
  std::vector<Transfer> receives;
  std::vector<Transfer> sends;
  for (int distance = 1; distance < num_nodes(); distance *= 2) {
    receives.push_back(receive(after(distance), ring.get() + offset(distance),
                               offset(distance + moved(distance)) - offset(distance)));
  }
  for (int distance = 1; distance < num_nodes(); distance *= 2) {
    sends.push_back(send(before(distance), ring.get(), offset(moved(distance))));
    await(receives[sends.size() - 1], timeout);
  }
  await_all(sends, timeout);
  const std::int64_t of_first = offset((num_nodes() - node()) % num_nodes());
  std::rotate_copy(ring.get(), ring.get() + of_first, ring.get() + offset(num_nodes()), bytes);
}

void NodeLinks::reduce_scatter(void* data, std::span<const std::int64_t> parts, Element element,
                               ReduceOp op, milliseconds timeout) {
  const std::int64_t size = size_of(element);
  const std::vector<std::int64_t> offsets = offsets_of(parts);
  const auto place = [&](int of_node) {
    return static_cast<std::byte*>(data) + offsets[static_cast<std::size_t>(of_node)] * size;
  };
  const std::int64_t own = parts[static_cast<std::size_t>(node())];
  const auto received = buffer_of(num_nodes() * own * size);
  const auto slot = [&](int of_node) { return received.get() + of_node * own * size; };

  std::vector<Transfer> transfers;
  for (int distance = 1; distance < num_nodes(); ++distance) {
    transfers.push_back(receive(before(distance), slot(before(distance)), own * size));
  }
  for (int distance = 1; distance < num_nodes(); ++distance) {
    const int to = after(distance);
    transfers.push_back(send(to, place(to), parts[static_cast<std::size_t>(to)] * size));
  }
  await_all(transfers, timeout);
  with_type(element, [&]<typename T>(T*) {
    std::vector<const T*> sources;
    for (int other = 0; other < num_nodes(); ++other) {
      sources.push_back(reinterpret_cast<const T*>(other == node() ? place(other) : slot(other)));
    }
    combine_all<T>(sources, reinterpret_cast<T*>(place(node())), nullptr, own, op);
  });
}

void NodeLinks::all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                           milliseconds timeout) {
  const std::int64_t bytes = numel * size_of(element);
  if (bytes > kGatheredBytes) {
    std::vector<std::int64_t> parts = even_parts(numel, num_nodes());
    reduce_scatter(data, parts, element, op, timeout);
    for (std::int64_t& part : parts) part *= size_of(element);
    return all_gather(data, parts, timeout);
  }
  const auto gathered = buffer_of(num_nodes() * bytes);
  std::copy_n(static_cast<const std::byte*>(data), bytes, gathered.get() + node() * bytes);
  const std::vector<std::int64_t> parts(static_cast<std::size_t>(num_nodes()), bytes);
  all_gather(gathered.get(), parts, timeout);
  with_type(element, [&]<typename T>(T*) {
    std::vector<const T*> sources;
    for (int other = 0; other < num_nodes(); ++other) {
      sources.push_back(reinterpret_cast<const T*>(gathered.get() + other * bytes));
    }
    combine_all<T>(sources, static_cast<T*>(data), nullptr, numel, op);
  });
}

void NodeLinks::broadcast(void* data, std::int64_t bytes, int source, milliseconds timeout) {
  auto* const begin = static_cast<std::byte*>(data);
  return bytes > kGatheredBytes ? broadcast_in_parts(begin, bytes, source, timeout)
                                : broadcast_by_tree(begin, bytes, source, timeout);
}

// Counted from the source, node i tells nodes i + 1, i + 2, i + 4, ... that come after the powers
// of two up to i: in each round twice as many know.
void NodeLinks::broadcast_by_tree(std::byte* data, std::int64_t bytes, int source,
                                  milliseconds timeout) {
  const int place = (node() - source + num_nodes()) % num_nodes();
  int reach = 1;
  while (reach <= place) reach *= 2;
  if (place > 0) await(receive(before(reach / 2), data, bytes), timeout);
  std::vector<Transfer> sends;
  for (; place + reach < num_nodes(); reach *= 2) {
    sends.push_back(send(after(reach), data, bytes));
  }
  await_all(sends, timeout);
}

void NodeLinks::broadcast_in_parts(std::byte* data, std::int64_t bytes, int source,
                                   milliseconds timeout) {
  const std::vector<std::int64_t> parts = even_parts(bytes, num_nodes());
  const std::vector<std::int64_t> offsets = offsets_of(parts);
  std::vector<Transfer> transfers;
  if (node() != source) {
    const auto own = static_cast<std::size_t>(node());
    transfers.push_back(receive(source, data + offsets[own], parts[own]));
  }
  for (int distance = 1; node() == source && distance < num_nodes(); ++distance) {
    const auto to = static_cast<std::size_t>(after(distance));
    transfers.push_back(send(after(distance), data + offsets[to], parts[to]));
  }
  await_all(transfers, timeout);
  all_gather(data, parts, timeout);
}

// Gloo has no call for this, but a wait that times out closes all connections of its rank. One that
// the other side has closed fails at once and closes nothing.
void NodeLinks::close() noexcept {
  for (int distance = 1; distance < num_nodes(); ++distance) {
    try {
      std::vector<at::Tensor> nothing{at::empty({1}, at::kByte)};
      network_->recv(nothing, after(distance), kNeverSentTag)->wait(milliseconds(1));
    } catch (const std::exception&) {
      // As meant.
    }
  }
}

}  // namespace paceline::comm
