#include "paceline/data/loader/work_slots.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
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
      SlotLease lease(i % 2 == 0 ? *slots : *joined, i);
      for (int turn = 0; turn < 20; ++turn) {
        lease.take();
        most = std::max(most.load(), ++working);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        --working;
        lease.leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
}

TEST(WorkSlots, AnEndedProcessGivesItsSlotBack) {
  const auto slots = WorkSlots::create(1);
  const std::string path = slots->path();
  int has_taken[2];
  ASSERT_EQ(pipe(has_taken), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto joined = WorkSlots::join(path, 1);
    SlotLease lease(*joined, 0);
    lease.take();
    if (write(has_taken[1], "x", 1) != 1) _exit(1);
    pause();  // until it is killed, holding the slot
  }
  char told = 0;
  ASSERT_EQ(read(has_taken[0], &told, 1), 1);
  std::atomic<bool> has_slot = false;
  std::thread waiting([&] {
    SlotLease lease(*slots, 0);
    lease.take();
    has_slot = true;
    lease.leave();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_slot);
  kill(child, SIGKILL);
  waiting.join();
  EXPECT_TRUE(has_slot);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(has_taken[0]);
  close(has_taken[1]);
}

TEST(WorkSlots, SaysWhatToDoWithoutThem) {
  EXPECT_THAT([] { WorkSlots::join("/proc/self/fd/9999", 1); },
              ThrowsMessage<base::DataError>(HasSubstr("use data.pool: rank")));
}

}  // namespace
}  // namespace paceline::data
