#pragma once

#include "paceline/comm/communicator.h"

#include <memory>

namespace paceline::parallel {

/// The ranks of a run, in groups of neighbours that share one copy of the state.
class ShardGroups {
 public:
  /// Of `size` ranks each; 0: one group of all. `world` must outlive this. Every rank must call it.
  /// Throws ConfigError when the size does not divide the number of ranks.
  ShardGroups(comm::Communicator& world, int size);

  comm::Communicator& world() const { return world_; }
  /// The ranks among which this rank's copy is cut.
  comm::Communicator& shards() const { return shards_ ? *shards_ : world_; }
  /// The ranks that hold the same shards; null if there is one copy.
  comm::Communicator* replicas() const { return replicas_.get(); }
  bool is_in_first_replica() const { return !replicas_ || replicas_->rank() == 0; }

 private:
  comm::Communicator& world_;
  std::unique_ptr<comm::Communicator> shards_;  // null: world_
  std::unique_ptr<comm::Communicator> replicas_;
};

}  // namespace paceline::parallel
