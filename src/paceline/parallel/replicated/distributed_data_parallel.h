#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/communication_report.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/tensor/fwd.h"
#include "paceline/tensor/state_shard.h"

#include <memory>
#include <string>
#include <vector>

namespace paceline::parallel {

enum class Reduction { kMean, kSum };

/// DDP for a module and a training loop of your own:
///
///   parallel::DistributedDataParallel ddp(*model, communicator);
///   for (...) {
///     optimizer.zero_grad();
///     loss_of(model->forward(images)).backward();  // gradients are reduced while it runs
///     ddp.finish_gradients();                      // now every .grad is the mean over the ranks
///     optimizer.step();
///   }
///
/// The parameters stay where they are, and any optimizer will do. finish_gradients() makes each
/// .grad a view of a reduced bucket; zero_grad may drop or zero it. Every rank must run the same
/// number of backward passes, each followed by finish_gradients() unless it is inside no_sync().
///
/// Under kMean gradients are multiplied by 1 / world_size before they are summed. Under kSum a
/// gradient must be dropped or zeroed before the next reduction: what is left in it would be summed
/// again.
class DistributedDataParallel {
 public:
  struct Options {
    Reduction reduction = Reduction::kMean;
    /// With allow_unused_parameters a parameter for which only other ranks have a gradient gets the
    /// result too; one for which no rank has one keeps its .grad undefined, so that optimizers
    /// leave it out.
    DdpConfig buckets;
  };

  /// Makes all ranks equal to rank 0 and hooks on to the trainable parameters of `module`.
  /// Collective. The communicator must outlive this. Throws ConfigError if the ranks' models
  /// differ.
  DistributedDataParallel(torch::nn::Module& module, comm::Communicator& communicator,
                          Options options);
  DistributedDataParallel(torch::nn::Module& module, comm::Communicator& communicator)
      : DistributedDataParallel(module, communicator, Options()) {}
  ~DistributedDataParallel();
  DistributedDataParallel(DistributedDataParallel&&) noexcept;

  /// Blocks until all gradients are reduced. Collective. Throws CommError. Unless unused parameters
  /// are allowed, all ranks throw the same ConfigError if any of them has a parameter without a
  /// gradient; it names parameters and ranks.
  void finish_gradients();

  /// While it lives, backward only accumulates into this rank's .grad; the next backward outside
  /// reduces the total.
  class NoSync;
  [[nodiscard]] NoSync no_sync();

  /// Makes the buffers (running statistics) of all ranks equal to rank 0's, whatever
  /// Options::buckets.buffers says: before an evaluation or a save. Collective.
  void synchronise_buffers();

  /// What a resumed run needs of compressed gradients; none without. Views, to be saved and loaded.
  std::vector<tensor::StateShard> compression_state();

  /// How the sums of the last finish_gradients() went.
  const CommunicationReport& communication_report() const;
  /// Seconds that the last finish_gradients() waited for the network.
  double exposed_communication_s() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

class DistributedDataParallel::NoSync {
 public:
  explicit NoSync(State& state);
  ~NoSync();
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  State& state_;
  bool was_reducing_;
};

}  // namespace paceline::parallel
