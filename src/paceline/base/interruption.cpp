#include "paceline/base/interruption.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <string>

namespace paceline::base {
namespace {

std::string name_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace

Interrupted::Interrupted(int signal, std::string_view doing)
    : Error(static_cast<ExitCode>(128 + signal),
            fmt::format("stopped by {} while {}", name_of(signal), doing)) {}

void Interruption::request(int signal, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto end = time < Clock::time_point::max() - now ? now + time : Clock::time_point::max();
  end_ = std::min(end_.load(), end);
  int none = 0;
  signal_.compare_exchange_strong(none, signal);
  source_.request_stop();
}

bool Interruption::wait_until_over(const std::stop_token& given_up) const {
  constexpr std::chrono::milliseconds kLookAround{100};  // once asked, a later signal may hurry
  std::mutex mutex;
  std::condition_variable_any changed;
  const std::stop_callback wake(token(), [&] {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, given_up, [this] { return is_requested(); });
  while (!is_over() && !given_up.stop_requested()) {
    changed.wait_for(lock, given_up, kLookAround, [this] { return is_over(); });
  }
  return is_over();
}

bool Interruption::sleep_for(Clock::duration time) const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const std::stop_token stop = token();
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

void Interruption::check(std::string_view doing) const {
  if (is_requested()) throw Interrupted(signal_.load(), doing);
}

}  // namespace paceline::base
