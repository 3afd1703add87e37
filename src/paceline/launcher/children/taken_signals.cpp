#include "paceline/launcher/children/taken_signals.h"

namespace paceline::launcher {

TakenSignals::TakenSignals() : old_sigchld_(std::signal(SIGCHLD, SIG_DFL)) {
  sigemptyset(&taken_);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &taken_, &before_);
}

TakenSignals::~TakenSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  std::signal(SIGCHLD, old_sigchld_);
}

int TakenSignals::take() const {
  int signal = 0;
  sigwait(&taken_, &signal);
  return signal;
}

std::optional<int> TakenSignals::take_until(Clock::time_point deadline) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    const timespec time{.tv_sec = left.count() / 1000, .tv_nsec = left.count() % 1000 * 1'000'000};
    const int signal = sigtimedwait(&taken_, nullptr, &time);
    if (signal > 0) return signal;  // else the time is over, or a stop and its end came between
  }
}

}  // namespace paceline::launcher
