#include "paceline/base/bounded_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(BoundedQueue, KeepsOrderAndSize) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.push(std::make_unique<int>(1)));
  EXPECT_TRUE(queue.push(std::make_unique<int>(2)));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_EQ(**queue.pop(), 2);
  EXPECT_THROW(BoundedQueue<int>(0), InternalError);
}

TEST(BoundedQueue, AClosedQueueIsEmptiedAndTakesNothing) {
  BoundedQueue<int> queue(2);
  queue.push(1);
  queue.close();
  EXPECT_FALSE(queue.push(2));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, ClosingWakesThoseWhoWait) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  full.push(0);
  std::atomic<int> woken = 0;
  {
    const std::jthread popper([&] { woken += empty.pop() == std::nullopt ? 1 : 0; });
    const std::jthread pusher([&] { woken += full.push(1) ? 0 : 1; });
    empty.close();
    full.close();
  }
  EXPECT_EQ(woken, 2);
}

TEST(BoundedQueue, EveryItemArrivesOnce) {
  constexpr int kPerThread = 1000;
  BoundedQueue<int> queue(3);
  std::atomic<long long> sum = 0;
  std::atomic<int> count = 0;
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 3; ++i) {
      consumers.emplace_back([&] {
        while (const auto item = queue.pop()) {
          sum += *item;
          ++count;
        }
      });
    }
    {
      std::vector<std::jthread> producers;
      for (int i = 0; i < 3; ++i) {
        producers.emplace_back([&] {
          for (int j = 1; j <= kPerThread; ++j) queue.push(j);
        });
      }
    }
    queue.close();
  }
  EXPECT_EQ(count, 3 * kPerThread);
  EXPECT_EQ(sum, 3ll * kPerThread * (kPerThread + 1) / 2);
}

}  // namespace
}  // namespace paceline::base
