#include "paceline/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace paceline::base {

void parallel_for(std::int64_t count, int num_threads,
                  const std::function<void(std::int64_t)>& work) {
  if (num_threads <= 0) num_threads = static_cast<int>(std::thread::hardware_concurrency());
  const std::int64_t helpers = std::min<std::int64_t>(std::max(num_threads, 1), count) - 1;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < helpers; ++i) threads.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace paceline::base
