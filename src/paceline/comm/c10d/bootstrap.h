#pragma once

#include "paceline/base/interruption.h"
#include "paceline/comm/communicator.h"
#include "paceline/launch/rank_info.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace paceline::comm {

/// One rank's place in a run.
struct GroupOptions {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int num_nodes = 1;
  std::string master_addr = "127.0.0.1";  ///< where rank 0 runs; unused on a single node
  int master_port = 29500;
  /// Keys and values in the store are bound to it (RunStore), so runs that meet on one port by
  /// mistake do not mix. The launcher makes one that strangers cannot guess.
  std::string run_id = "paceline";
  /// False when the launcher serves the store already (torchrun's
  /// TORCHELASTIC_USE_AGENT_STORE=True).
  bool serves_store = true;
  /// The network interface for the collectives. Empty: $PACELINE_INTERFACE, else
  /// $GLOO_SOCKET_IFNAME, else loopback on a single node, else the interface that routes to the
  /// master.
  std::string interface;
  /// Ranks of one node communicate through shared memory, and nodes by their first ranks.
  /// PACELINE_SHARED_MEMORY=0 switches it off: all ranks are connected then, and use Gloo's own
  /// collectives.
  bool shared_memory = true;
  /// How many ranks share memory: those numbered 0, 1, ... make the first node. 0: world_size /
  /// num_nodes, or one each if nodes have different numbers of ranks.
  int ranks_per_node = 0;
  /// Where tensors may lie besides host memory: "cpu" (nowhere), "cuda" (on GPU local_rank, by
  /// NCCL) or "cuda:N". Those in host memory go by Gloo or shared memory in any case.
  std::string device = "cpu";
  std::string gpu_uuid = {};  ///< that of the GPU: two ranks must not have one
  /// Why there is no GPU, where `device` is "cpu": for ranks that have one.
  std::string why_no_gpu = {};
  /// Why this rank can take part on no device; empty if it can. All ranks are told, and end.
  std::string device_fault = {};
  std::chrono::milliseconds connect_timeout =
      std::chrono::minutes(5);                                   ///< until all ranks are there
  std::chrono::milliseconds timeout = std::chrono::minutes(10);  ///< of a collective
  /// Ends the waiting for peers: at once while the ranks meet, when its time is over in a
  /// collective. Null: never. Must outlive the communicator.
  const base::Interruption* interruption = nullptr;
  /// How long a rank whose collective failed waits to hear what the others are at.
  std::chrono::milliseconds failure_grace = std::chrono::seconds(2);
};

/// The place that the launcher, torchrun, srun or mpirun gave this process.
GroupOptions group_options(const launch::RankInfo& info);

/// How many descriptors this rank's place in the run takes: one to ask the store, the group of all
/// ranks' own, and one from each rank that asks where this one serves the store.
int descriptors_needed(const GroupOptions& options);

/// How many a group of the run's ranks `members`, in ascending order, takes on this one besides:
/// one on which the store can wake it, one for the memory of its node, and a node's first rank has
/// one to each other node's. Where this rank serves the store, all ranks of the run are taken to
/// have such a group, and each to bring one more.
int descriptors_needed(const GroupOptions& options, std::span<const int> members);

/// Connects this rank with its peers. Every rank must call it. Rank 0 serves the store, which
/// listens on the loopback address when the run has a single node, else on the address that
/// master_addr names. What strangers can do there depends on run_id (RunStore); nothing is
/// encrypted: several nodes need a network of their own.
///
/// A world of one needs no network and opens no socket.
///
/// Throws ConfigError for options that cannot work, also for a device_fault without peers,
/// CommError when the port is in use, the master cannot be reached, a rank joins twice, the ranks'
/// world sizes differ or ranks are missing, with their numbers, after connect_timeout. Throws
/// Interrupted when the process is asked to stop.
std::unique_ptr<Communicator> connect(const GroupOptions& options);

}  // namespace paceline::comm
