#pragma once

#include "paceline/base/interruption.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace paceline::cli {

/// Turns signals into an Interruption. SIGINT, SIGTERM and SIGHUP ask the process to be gone within
/// `grace`, or the milliseconds that sigqueue gave with the signal, as the launcher does after
/// another rank's failure; waits are over a fifth of it earlier, so that a rank that waits in vain
/// can still say so. A second SIGINT ends it at once. SIGHUP stays ignored where it was ignored
/// (nohup). SIGUSR1 and SIGUSR2 are what a scheduler sends ahead of its limit: under Slurm they ask
/// the process to save and end in its own time, elsewhere they are logged and mean nothing.
class SignalWatcher {
 public:
  /// To be made before any other thread, because it blocks the signals for all threads to come.
  SignalWatcher(std::chrono::milliseconds grace, bool is_under_slurm);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  const base::Interruption& interruption() const { return interruption_; }

 private:
  void watch();
  void handle(const siginfo_t& signal);

  const std::chrono::milliseconds grace_;
  const bool is_under_slurm_;
  base::Interruption interruption_;
  bool has_been_interrupted_ = false;  ///< by more than SIGUSR1 and SIGUSR2; the thread's own
  std::atomic<bool> is_ending_ = false;
  sigset_t mask_before_{};
  std::thread thread_;
};

}  // namespace paceline::cli
