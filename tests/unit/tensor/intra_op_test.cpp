#include "paceline/tensor/intra_op.h"

#include "paceline/tensor/aten.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(IntraOp, CallsForEachNumberOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    run_intra_op(count, [&](std::int64_t i) { ++calls.at(static_cast<std::size_t>(i)); });
    for (const std::atomic<int>& number : calls) EXPECT_EQ(number, 1);
  }
}

TEST(IntraOp, UsesAsManyThreadsAsLibTorch) {
  const int before = at::get_num_threads();
  for (const std::size_t num_threads : {1, 2}) {
    at::set_num_threads(static_cast<int>(num_threads));
    std::mutex mutex;
    std::set<std::thread::id> threads;
    run_intra_op(4, [&](std::int64_t) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(threads.size(), num_threads);
  }
  at::set_num_threads(before);
}

TEST(IntraOp, ExceptionsComeOut) {
  EXPECT_THROW(run_intra_op(8, [](std::int64_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace paceline::tensor
