#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/tensor/arena.h"
#include "paceline/tensor/state_shard.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace paceline::parallel {

/// Sums the buckets of a gradient arena over the ranks with fewer bytes than they have.
class GradientCompression {
 public:
  virtual ~GradientCompression() = default;

  /// Starts the sum of a bucket, which holds it when wait() returns. A step starts all buckets in
  /// their order, then waits for them in that order. Collective.
  virtual std::unique_ptr<comm::Work> all_reduce(std::size_t bucket) = 0;

  /// What a resumed run needs besides the gradients to go on with the same bits: views, to be saved
  /// and loaded.
  virtual std::vector<tensor::StateShard> state() { return {}; }
};

/// Null if the configuration asks for none. All arguments must outlive it; `gradients` must be the
/// same layout on every rank.
std::unique_ptr<GradientCompression> make_compression(const DdpConfig& config,
                                                      const tensor::Arena& gradients,
                                                      comm::Communicator& communicator);

}  // namespace paceline::parallel
