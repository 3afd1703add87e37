#include "paceline/cli/signal_watcher.h"

#include "paceline/base/log.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <unistd.h>

namespace paceline::cli {
namespace {

/// Also wakes the watching thread to end.
constexpr int kWakeSignal = SIGUSR1;

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

SignalWatcher::SignalWatcher(std::chrono::milliseconds grace, bool is_under_slurm)
    : grace_(grace), is_under_slurm_(is_under_slurm) {
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
    siginfo_t signal{};
    while (sigwaitinfo(&signals, &signal) == -1 && errno == EINTR) {
    }
    if (is_ending_) return;
    handle(signal);
  }
}

void SignalWatcher::handle(const siginfo_t& info) {
  const int signal = info.si_signo;
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    if (is_under_slurm_)
      return interruption_.request(signal, base::Interruption::Clock::duration::max());
    return base::log_warning("SIG{} is ignored: it asks to save and end under Slurm only",
                             sigabbrev_np(signal));
  }
  if (signal == SIGINT && has_been_interrupted_) _exit(128 + signal);
  has_been_interrupted_ = true;
  const std::chrono::milliseconds told(info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
  interruption_.request(signal, (told.count() > 0 ? told : grace_) * 4 / 5);
}

}  // namespace paceline::cli
