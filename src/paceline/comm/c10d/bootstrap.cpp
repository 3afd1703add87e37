#include "paceline/comm/c10d/bootstrap.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"
#include "paceline/comm/c10d/c10d_communicator.h"
#include "paceline/comm/c10d/c10d_types.h"
#include "paceline/comm/c10d/nccl_backend.h"
#include "paceline/comm/c10d/rendezvous.h"
#include "paceline/comm/deadline.h"
#include "paceline/comm/endpoint.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/comm/local/local_group.h"
#include "paceline/comm/nodes/node_backend.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace paceline::comm {
namespace {

void check(const GroupOptions& options) {
  const auto require = [](bool condition, const std::string& message) {
    if (!condition) {
      throw base::ConfigError(message);
    }
  };
  require(options.world_size >= 1,
          fmt::format("WORLD_SIZE is {}; it must be at least 1", options.world_size));
  require(options.rank >= 0 && options.rank < options.world_size,
          fmt::format("RANK is {}; with WORLD_SIZE {} it must be in 0..{}", options.rank,
                      options.world_size, options.world_size - 1));
  require(options.num_nodes >= 1 && options.num_nodes <= options.world_size,
          fmt::format("{} nodes for {} ranks; each node needs at least one rank", options.num_nodes,
                      options.world_size));
  require(options.world_size == 1 || (options.master_port >= 1 && options.master_port <= 65535),
          fmt::format("MASTER_PORT is {}; it must be in 1..65535", options.master_port));
  require(!options.run_id.empty(), "the run id is empty");
}

/// The interface that is named for the collectives; empty: none is.
std::string interface_of(const GroupOptions& options,
                         std::initializer_list<const char*> variables) {
  if (!options.interface.empty()) {
    return options.interface;
  }
  for (const char* name : variables) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return value;
    }
  }
  return {};
}

/// The GPU's index, or -1 for the CPU.
int cuda_device_of(const GroupOptions& options) {
  if (options.device == "cpu") {
    return -1;
  }
  if (options.device == "cuda") {
    return options.local_rank;
  }
  int index = -1;
  if (const std::string_view text = options.device; text.starts_with("cuda:")) {
    const auto [end, error] = std::from_chars(text.data() + 5, text.data() + text.size(), index);
    if (error == std::errc() && end == text.data() + text.size() && index >= 0) {
      return index;
    }
  }
  throw base::ConfigError(
      fmt::format("device '{}' is none of 'cpu', 'cuda', 'cuda:N'", options.device));
}

/// Ranks are numbered node by node; where nodes have different numbers of them, no two are taken to
/// share one.
int ranks_per_node(const GroupOptions& options) {
  if (options.ranks_per_node > 0) return options.ranks_per_node;
  return options.world_size % options.num_nodes == 0 ? options.world_size / options.num_nodes : 1;
}

bool wants_shared_memory(const GroupOptions& options) {
  const char* variable = std::getenv("PACELINE_SHARED_MEMORY");
  return options.shared_memory && (variable == nullptr || std::string_view(variable) != "0");
}

bool is_server(const GroupOptions& options) { return options.rank == 0 && options.serves_store; }

std::vector<int> all_ranks(const GroupOptions& options) {
  std::vector<int> ranks(static_cast<std::size_t>(options.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Backends make_backends(const GroupOptions& options, const Endpoint& endpoint,
                       const c10::intrusive_ptr<c10d::Store>& store, std::span<const int> members,
                       int rank) {
  const auto connect_by_gloo = [&](const auto& own_store, int own_rank, int size) {
    return make_gloo_backend(own_store, own_rank, size, endpoint.address, options.connect_timeout);
  };
  try {
    Backends backends{wants_shared_memory(options)
                          ? make_node_backend(store,
                                              map_nodes(members, rank, ranks_per_node(options)),
                                              connect_by_gloo, options.connect_timeout)
                          : connect_by_gloo(store, rank, static_cast<int>(members.size()))};
    const int cuda_device = cuda_device_of(options);
    if (cuda_device >= 0) {
      // A group of its own, not a split of the run's: parts may then have any sizes, also one.
      backends.gpu = make_nccl_backend(c10::make_intrusive<c10d::PrefixStore>("gpu", store), rank,
                                       members, cuda_device, options.timeout,
                                       interface_of(options, {"PACELINE_INTERFACE"}));
    }
    return backends;
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string cause = first_line(error);
    const std::string limit = base::limit_named_in(cause);
    throw base::CommError(
        fmt::format("rank {} cannot connect to its peers over interface {} ({}): {}; {}",
                    options.rank, endpoint.interface, endpoint.address, cause,
                    limit.empty() ? "choose another interface with PACELINE_INTERFACE" : limit));
  }
}

/// Where ranks meet, and over what this one is reached.
struct Place {
  Endpoint endpoint;
  Rendezvous rendezvous;
};

Place meet_peers(const GroupOptions& options) {
  const auto meet_all = [options]() -> Place {
    const bool goes_by_name = options.num_nodes > 1 || !options.serves_store;
    if (goes_by_name) await_address(options.master_addr, options.connect_timeout);
    const Endpoint endpoint =
        choose_endpoint(options.master_addr, options.num_nodes,
                        interface_of(options, {"PACELINE_INTERFACE", "GLOO_SOCKET_IFNAME"}));
    return {endpoint, meet(options)};
  };
  const std::string doing =
      fmt::format("waiting for the other ranks at {}:{}", options.master_addr, options.master_port);
  return unless_interrupted(options.interruption, doing, meet_all);
}

/// For the run, and for parts of it later.
BackendFactory backend_factory(const GroupOptions& options, const Endpoint& endpoint) {
  return [options, endpoint](const c10::intrusive_ptr<c10d::Store>& store,
                             std::span<const int> members, int rank) {
    if (std::ssize(members) < options.world_size)
      base::require_more_descriptors(descriptors_needed(options, members));
    const auto make = [options, endpoint, store, rank,
                       own_members = std::vector<int>(members.begin(), members.end())] {
      return make_backends(options, endpoint, store, own_members, rank);
    };
    return unless_interrupted(options.interruption, "connecting with the other ranks", make);
  };
}

}  // namespace

GroupOptions group_options(const launch::RankInfo& info) {
  GroupOptions options;
  options.rank = info.rank;
  options.world_size = info.world_size;
  options.local_rank = info.local_rank;
  options.num_nodes = info.num_nodes;
  options.master_addr = info.master_addr;
  options.master_port = info.master_port;
  options.run_id = info.run_id;
  options.serves_store = !info.store_is_served;
  options.connect_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(info.rdzv_timeout_seconds * 1000));
  return options;
}

int descriptors_needed(const GroupOptions& options) {
  if (options.world_size == 1) return 0;
  const int to_ask = 1 + (is_server(options) ? options.world_size : 0);
  return to_ask + descriptors_needed(options, all_ranks(options));
}

int descriptors_needed(const GroupOptions& options, std::span<const int> members) {
  const int to_be_woken = 1 + (is_server(options) ? options.world_size : 0);
  const auto size = static_cast<int>(members.size());
  if (!wants_shared_memory(options)) return to_be_woken + size - 1;
  const auto rank =
      static_cast<int>(std::ranges::lower_bound(members, options.rank) - members.begin());
  const NodeMap map = map_nodes(members, rank, ranks_per_node(options));
  const int memory = map.size(map.node) > 1 ? 1 : 0;
  return to_be_woken + memory + (map.is_first() ? map.num_nodes() - 1 : 0);
}

std::unique_ptr<Communicator> connect(const GroupOptions& options) {
  check(options);
  if (options.world_size == 1) {
    if (!options.device_fault.empty()) throw base::ConfigError(options.device_fault);
    return LocalGroup(1).join(0);
  }
  cuda_device_of(options);  // an unknown device is refused before peers are met
  const auto [endpoint, meeting_point] = meet_peers(options);
  C10dGroupOptions group;
  group.members = all_ranks(options);
  group.make_backends = backend_factory(options, endpoint);
  Backends backends =
      group.make_backends(c10::make_intrusive<c10d::PrefixStore>("backend", meeting_point.store),
                          group.members, options.rank);
  group.timeout = options.timeout;
  group.failure_grace = options.failure_grace;
  group.interruption = options.interruption;
  group.description =
      fmt::format("{}{} over {} ({}), store {}", backends.gpu ? "nccl, and on the host " : "",
                  backends.host->getBackendName(), endpoint.interface, endpoint.address,
                  meeting_point.description);
  auto communicator = make_c10d_communicator(std::move(backends), meeting_point.store, group);
  communicator->set_timeout(options.timeout);
  return communicator;
}

}  // namespace paceline::comm
