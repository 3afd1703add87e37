#include "paceline/data/work_slots.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(WorkSlots, NoMoreThreadsWorkThanThereAreSlots) {
  const auto slots = WorkSlots::create(2);
  const auto joined = WorkSlots::join(slots->path(), 2);
  std::atomic<int> working = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      WorkSeat seat(i % 2 == 0 ? *slots : *joined, i);
      for (int turn = 0; turn < 20; ++turn) {
        seat.take();
        most = std::max(most.load(), ++working);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        --working;
        seat.leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
}

TEST(WorkSlots, AnEndedProcessGivesItsSlotBack) {
  const auto slots = WorkSlots::create(1);
  const std::string path = slots->path();
  const pid_t child = fork();
  if (child == 0) {
    WorkSeat seat(*WorkSlots::join(path, 1), 0);
    seat.take();
    _exit(0);  // holding it
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  WorkSeat seat(*slots, 0);
  seat.take();
  seat.leave();
}

TEST(WorkSlots, SaysWhatToDoWithoutThem) {
  EXPECT_THAT([] { WorkSlots::join("/proc/self/fd/9999", 1); },
              ThrowsMessage<base::DataError>(HasSubstr("use data.pool: rank")));
}

}  // namespace
}  // namespace paceline::data
