#pragma once

#include <chrono>
#include <future>
#include <optional>
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

}  // namespace paceline::comm
