#include "paceline/comm/shm/shared_memory.h"

#include "paceline/base/error.h"

#include <csignal>
#include <cstring>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::comm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kBytes = 10000;

TEST(SharedMemory, StartsAsZerosAndIsSeenByWhoeverOpensIt) {
  SharedMemory made = SharedMemory::create(kBytes);
  const SharedMemory opened = SharedMemory::open(made.name(), kBytes);
  made.unlink();
  EXPECT_EQ(opened.data()[kBytes - 1], std::byte{0});
  made.data()[kBytes - 1] = std::byte{7};
  EXPECT_EQ(opened.data()[kBytes - 1], std::byte{7});
}

TEST(SharedMemory, LeavesNothingBehindOnceUnlinked) {
  SharedMemory made = SharedMemory::create(kBytes);
  made.unlink();
  EXPECT_THAT([&] { SharedMemory::open(made.name(), kBytes); },
              ThrowsMessage<base::CommError>(HasSubstr("cannot open the shared memory")));
}

TEST(SharedMemory, TheMakersEndLeavesNothingBehindEither) {
  std::string name;
  {
    const SharedMemory made = SharedMemory::create(kBytes);
    name = made.name();
    SharedMemory::open(name, kBytes);  // a visitor's end changes nothing
    SharedMemory::open(name, kBytes);
  }
  EXPECT_THROW(SharedMemory::open(name, kBytes), base::CommError);
}

TEST(SharedMemory, RefusesAnotherSize) {
  SharedMemory made = SharedMemory::create(kBytes);
  EXPECT_THAT([&] { SharedMemory::open(made.name(), 2 * kBytes); },
              ThrowsMessage<base::CommError>(HasSubstr("cannot use the shared memory")));
}

TEST(SharedMemory, ARankIsPresentAsLongAsItsObjectLives) {
  SharedMemory watcher = SharedMemory::create(kBytes);
  std::optional<SharedMemory> rank_1 = SharedMemory::open(watcher.name(), kBytes);
  watcher.unlink();
  EXPECT_FALSE(watcher.is_present(1));
  rank_1->mark_present(1);
  EXPECT_TRUE(watcher.is_present(1));
  EXPECT_FALSE(watcher.is_present(0));
  rank_1.reset();
  EXPECT_FALSE(watcher.is_present(1));
}

TEST(SharedMemory, AKilledRankIsNotPresentEvenBeforeItsParentHasSeenItsEnd) {
  SharedMemory watcher = SharedMemory::create(kBytes);
  const pid_t child = fork();
  if (child == 0) {  // only system calls from here on: LibTorch may have threads
    const SharedMemory own = SharedMemory::open(watcher.name(), kBytes);
    own.mark_present(1);
    own.data()[0] = std::byte{1};
    for (;;) pause();
  }
  while (static_cast<volatile std::byte*>(watcher.data())[0] != std::byte{1}) usleep(1000);
  watcher.unlink();
  EXPECT_TRUE(watcher.is_present(1));
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // dead, but still a zombie
  EXPECT_FALSE(watcher.is_present(1));
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace paceline::comm
