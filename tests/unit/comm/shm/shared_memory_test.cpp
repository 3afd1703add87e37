#include "paceline/comm/shm/shared_memory.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include <fcntl.h>
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
  EXPECT_EQ(opened.data()[kBytes - 1], std::byte{0});
  made.data()[kBytes - 1] = std::byte{7};
  EXPECT_EQ(opened.data()[kBytes - 1], std::byte{7});
}

std::set<std::string> names_in_shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    names.insert(entry.path().filename());
  return names;
}

TEST(SharedMemory, HasNoNameThatCouldBeLeftBehind) {
  const auto before = names_in_shared_memory();
  const SharedMemory made = SharedMemory::create(kBytes);
  for (const std::string& name : names_in_shared_memory())
    EXPECT_TRUE(before.contains(name) || !name.starts_with("paceline-")) << name;
}

TEST(SharedMemory, EndsWithItsMaker) {
  std::string name;
  {
    const SharedMemory made = SharedMemory::create(kBytes);
    name = made.name();
    SharedMemory::open(name, kBytes);  // a visitor's end changes nothing
    SharedMemory::open(name, kBytes);
  }
  EXPECT_THAT([&] { SharedMemory::open(name, kBytes); },
              ThrowsMessage<base::CommError>(HasSubstr("cannot open the shared memory")));
}

TEST(SharedMemory, OpensNothingElseUnderTheSameNumbers) {
  const base::TempDir folder;
  std::ofstream file(folder.path() / "file");
  const int other = open((folder.path() / "file").c_str(), O_RDWR);
  EXPECT_THAT([&] { SharedMemory::open(fmt::format("{} {} paceline-1", getpid(), other), kBytes); },
              ThrowsMessage<base::CommError>(HasSubstr("cannot open the shared memory")));
  close(other);
  for (const char* garbage : {"", "1", "x y z", "../../etc 1 paceline-1"})
    EXPECT_THROW(SharedMemory::open(garbage, kBytes), base::CommError) << garbage;
}

TEST(SharedMemory, NobodyCanMakeItShorter) {
  const SharedMemory made = SharedMemory::create(kBytes);
  std::istringstream name(made.name());
  int process = 0;
  int descriptor = 0;
  name >> process >> descriptor;
  EXPECT_EQ(process, getpid());
  EXPECT_NE(ftruncate(descriptor, 0), 0);
}

TEST(SharedMemory, RefusesAnotherSize) {
  SharedMemory made = SharedMemory::create(kBytes);
  EXPECT_THAT([&] { SharedMemory::open(made.name(), 2 * kBytes); },
              ThrowsMessage<base::CommError>(HasSubstr("cannot use the shared memory")));
}

TEST(SharedMemory, ARankIsPresentAsLongAsItsObjectLives) {
  SharedMemory watcher = SharedMemory::create(kBytes);
  std::optional<SharedMemory> rank_1 = SharedMemory::open(watcher.name(), kBytes);
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
  EXPECT_TRUE(watcher.is_present(1));
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // dead, but still a zombie
  EXPECT_FALSE(watcher.is_present(1));
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace paceline::comm
