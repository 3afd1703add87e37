#pragma once

#include "paceline/launch/supervised_rank.h"

#include <csignal>
#include <initializer_list>

#include <sys/signalfd.h>
#include <unistd.h>

namespace paceline::launch {

/// Blocks signals, by default those that a launcher passes on to its ranks, and lets a descriptor
/// report them; undone at the end. Meanwhile children that have ended wait to be reaped, also where
/// whoever started the launcher ignores SIGCHLD: the kernel would throw their exit codes away. To
/// be made and used by the main thread.
class SignalQueue {
 public:
  SignalQueue() : SignalQueue({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP}) {}
  explicit SignalQueue(std::initializer_list<int> signals)
      : old_sigpipe_(std::signal(SIGPIPE, SIG_IGN)), old_sigchld_(std::signal(SIGCHLD, SIG_DFL)) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : signals) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      // nohup and `&` in scripts ask that a signal be ignored; the ranks inherit that.
      if (action.sa_handler != SIG_IGN) sigaddset(&wanted, signal);
    }
    sigprocmask(SIG_BLOCK, &wanted, &previous_mask_);
    descriptor_.reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalQueue() {
    std::signal(SIGCHLD, old_sigchld_);
    std::signal(SIGPIPE, old_sigpipe_);
    sigprocmask(SIG_SETMASK, &previous_mask_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int descriptor() const { return descriptor_.get(); }
  const sigset_t& previous_mask() const { return previous_mask_; }
  /// The next signal, or 0.
  int next() const {
    signalfd_siginfo info{};
    return read(descriptor_.get(), &info, sizeof info) == sizeof info
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  Descriptor descriptor_;
  sigset_t previous_mask_{};
  void (*old_sigpipe_)(int);
  void (*old_sigchld_)(int);
};

}  // namespace paceline::launch
