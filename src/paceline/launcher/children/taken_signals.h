#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace paceline::launcher {

/// While it lives, SIGCHLD, SIGINT, SIGTERM and SIGHUP wait to be taken instead of ending the
/// process, but those that were ignored stay so. SIGCHLD never is: the kernel would throw the exit
/// codes away.
class TakenSignals {
 public:
  using Clock = std::chrono::steady_clock;

  TakenSignals();
  ~TakenSignals();
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;

  /// What children should block: what this process did.
  const sigset_t& before() const { return before_; }
  /// Waits for the next.
  int take() const;
  /// Nothing once the time is over.
  std::optional<int> take_until(Clock::time_point deadline) const;

 private:
  void (*old_sigchld_)(int);
  sigset_t taken_{};
  sigset_t before_{};
};

}  // namespace paceline::launcher
