#pragma once

#include "paceline/base/interruption.h"

#include <chrono>
#include <future>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace paceline::comm {

/// The result of `call`, or nullopt when it takes longer than `time`; rethrows what it throws. For
/// calls into LibTorch's store that have no time-out of their own. A late call is left behind on
/// its thread, so it must own all that it uses.
template <typename Call>
auto within(std::chrono::milliseconds time, Call call) -> std::optional<decltype(call())> {
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(time) == std::future_status::timeout) {
    thread.detach();
    return std::nullopt;
  }
  thread.join();
  return result.get();
}

/// The result of `call`; rethrows what it throws. Throws Interrupted ("while `doing`") as soon as
/// the process is asked to stop; the call is then left behind on its thread, so it must own all
/// that it uses. A null `interruption` never comes.
template <typename Call>
auto unless_interrupted(const base::Interruption* interruption, std::string_view doing, Call call)
    -> decltype(call()) {
  if (interruption == nullptr) return call();
  constexpr std::chrono::milliseconds kLook{20};
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  while (result.wait_for(kLook) == std::future_status::timeout) {
    if (!interruption->is_requested()) continue;
    thread.detach();
    interruption->check(doing);
  }
  thread.join();
  return result.get();
}

}  // namespace paceline::comm
