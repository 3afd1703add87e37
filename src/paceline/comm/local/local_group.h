#pragma once

#include "paceline/comm/communicator.h"

#include <memory>
#include <string>

namespace paceline::comm {

/// Threads of one process as ranks, for tests and for a world of one. Sums are taken in rank order,
/// so results do not depend on timing. Differing calls, a rank that does not come and a closed
/// group are CommErrors on every rank.
class LocalGroup {
 public:
  explicit LocalGroup(int world_size);

  /// The communicator of one rank, to be used by one thread at a time. It keeps the group alive.
  std::unique_ptr<Communicator> join(int rank) const;

  /// Every collective that waits now or is called later throws CommError(reason). The first reason
  /// stays.
  void abort(const std::string& reason) const;

 private:
  class State;
  class Member;
  std::shared_ptr<State> state_;
};

}  // namespace paceline::comm
