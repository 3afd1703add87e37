#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace paceline::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a number that the training loop reads. A second SIGINT
/// ends the process at once. SIGHUP stays ignored where it was ignored (nohup).
class SignalWatcher {
 public:
  /// To be made before any other thread, because it blocks the signals for all threads to come.
  SignalWatcher();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  /// 0, or the first signal received.
  const std::atomic<int>& received() const { return received_; }

 private:
  void watch();

  std::atomic<int> received_{0};
  std::atomic<bool> is_ending_ = false;
  sigset_t mask_before_{};
  std::thread thread_;
};

}  // namespace paceline::cli
