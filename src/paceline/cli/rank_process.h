#pragma once

#include "paceline/app/session.h"
#include "paceline/base/file.h"
#include "paceline/cli/signal_watcher.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/first_step.h"
#include "paceline/launch/rank_info.h"

#include <memory>

namespace paceline::cli {

/// What every command that trains or evaluates needs, set up in the right order: signals before
/// threads, the CUDA plug-in before tensors, threads before work, peers before the model.
class RankProcess {
 public:
  /// Waits for the peers; `registries` must outlive it. Every rank must call it. Throws
  /// ConfigError, CommError.
  explicit RankProcess(const app::Registries& registries);

  /// Valid as long as this.
  const app::SessionContext& context() const { return context_; }

  /// Leaves the group in order, when the work is done. Every rank must call it.
  void shutdown() { communicator_->shutdown(); }

 private:
  launch::Environment environment_;
  launch::RankInfo info_;
  SignalWatcher signals_;
  int num_threads_;
  std::unique_ptr<tensor::Device> gpu_;  ///< null: this rank works on the CPU
  std::unique_ptr<comm::Communicator> communicator_;
  base::RealFileSystem files_;
  launch::FirstStepNotice first_step_;
  app::SessionContext context_;
};

}  // namespace paceline::cli
