#include "paceline/comm/c10d/gpu_backends.h"

#include "paceline/comm/deadline.h"

#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace paceline::comm {
namespace {

/// Calls it on each backend at the same time, and returns when all calls have, or after `time`. A
/// late call is left behind on its thread, which then is an owner of its backend.
template <typename Call>
void for_all_within(std::chrono::milliseconds time,
                    std::vector<c10::intrusive_ptr<c10d::Backend>> backends, const Call& call) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  std::vector<std::pair<std::thread, std::future<void>>> calls;
  try {
    for (auto& backend : backends) {
      std::packaged_task<void()> task(
          [call, owned = std::move(backend)]() mutable { call(owned); });
      auto end = task.get_future();
      calls.emplace_back(std::thread(std::move(task)), std::move(end));
    }
  } catch (const std::system_error&) {
    // No thread can be started. The process is about to end, and says why.
  }
  for (auto& [thread, end] : calls) {
    if (end.wait_until(deadline) == std::future_status::timeout) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

}  // namespace

GpuBackends::~GpuBackends() {
  // NCCL's destructor waits for its watchdog, which waits for the GPU: it may be what has failed.
  if (is_aborted_) {
    for_all_within(longest_end_, std::move(backends_), [](Pointer& backend) { backend.reset(); });
  }
}

void GpuBackends::add(c10::intrusive_ptr<c10d::Backend> backend) {
  {
    const std::lock_guard lock(mutex_);
    backends_.push_back(backend);
    if (!is_aborted_) return;
  }
  for_all_within(longest_end_, {std::move(backend)}, [](Pointer& late) { late->abort(); });
}

bool GpuBackends::empty() const {
  const std::lock_guard lock(mutex_);
  return backends_.empty();
}

void GpuBackends::abort() {
  const std::lock_guard abort_lock(abort_mutex_);
  std::vector<Pointer> backends;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_aborted_, true)) return;
    backends = backends_;
  }
  for_all_within(longest_end_, std::move(backends), [](Pointer& backend) { backend->abort(); });
}

std::string GpuBackends::failure() const {
  const std::lock_guard lock(mutex_);
  if (is_aborted_ && !backends_.empty())
    return "its collectives were ended, for another rank's or another group's failed";
  for (const Pointer& backend : backends_) {
    switch (backend->getError()) {
      case c10d::ErrorType::SUCCESS:
        continue;
      case c10d::ErrorType::TIMEOUT:
        return "a collective on the GPU took longer than the time-out";
      default:
        return "a collective on the GPU lost its connection, or the GPU failed";
    }
  }
  return {};
}

}  // namespace paceline::comm
