#include "paceline/cli/signal_watcher.h"

#include <csignal>
#include <cstdlib>

#include <pthread.h>
#include <unistd.h>

namespace paceline::cli {
namespace {

/// Wakes the watching thread to end.
constexpr int kWakeSignal = SIGUSR1;

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, kWakeSignal);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

SignalWatcher::SignalWatcher() {
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
  thread_ = std::thread([this] { watch(); });
}

SignalWatcher::~SignalWatcher() {
  is_ending_ = true;
  pthread_kill(thread_.native_handle(), kWakeSignal);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void SignalWatcher::watch() {
  const sigset_t signals = watched_signals();
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    if (signal == kWakeSignal) {
      if (is_ending_) return;
      continue;  // a user's or scheduler's, which means nothing here
    }
    int none = 0;
    const bool is_first = received_.compare_exchange_strong(none, signal);
    if (!is_first && signal == SIGINT) _exit(128 + signal);
  }
}

}  // namespace paceline::cli
