#pragma once

#include "paceline/base/interruption.h"
#include "paceline/comm/communicator.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::comm {

/// What carries a group's collectives: those of tensors in host memory, and of tensors on a GPU.
struct Backends {
  c10::intrusive_ptr<c10d::Backend> host;
  c10::intrusive_ptr<c10d::Backend> gpu = {};  ///< null: all tensors lie in host memory
};

/// Connects some of the run's ranks, `members`, among which this process is number `rank`.
using BackendFactory = std::function<Backends(const c10::intrusive_ptr<c10d::Store>& store,
                                              std::span<const int> members, int rank)>;

/// What a c10d backend does not say of itself.
struct C10dGroupOptions {
  BackendFactory make_backends;  ///< for parts of the group
  std::vector<int> members;      ///< ranks of the run that the group is made of
  std::string description;       ///< for the banner
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  /// Before each of the first collectives the ranks compare what they are about to do, so that a
  /// model or a recipe that differs fails with both sides' words at step 1. Later ones are compared
  /// only when a wait is long, or after a failure.
  std::int64_t checked_collectives = 128;
  /// After such a wait on the host, and again after twice as long, a rank looks whether another one
  /// waits for another collective.
  std::chrono::milliseconds long_wait = std::chrono::seconds(10);
  /// How long a rank whose collective failed waits for the words of the others.
  std::chrono::milliseconds failure_grace = std::chrono::seconds(2);
  /// When its time is over, whoever waits for a collective gives up. Null: never.
  const base::Interruption* interruption = nullptr;
};

/// A communicator over Gloo, and over NCCL for tensors on a GPU. `store` must be this group's own
/// (a prefix), and is kept open to find out who is missing when a collective fails. Every rank must
/// call it.
std::unique_ptr<Communicator> make_c10d_communicator(Backends backends,
                                                     c10::intrusive_ptr<c10d::Store> store,
                                                     const C10dGroupOptions& options);

}  // namespace paceline::comm
