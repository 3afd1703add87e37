#include "paceline/pretrained/file_lock.h"

#include "paceline/base/log.h"
#include "support/temp_folder.h"

#include <atomic>
#include <csignal>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

using namespace std::chrono_literals;  // NOLINT: for 1s

struct LockedFolder {
  test::TempFolder folder;
  base::RealFileSystem files;
  std::filesystem::path path = folder.path() / "locks" / "x.lock";
};

TEST(FileLock, TheNextWaitsAndSaysForWhat) {
  LockedFolder place;
  std::mutex mutex;
  std::string said;
  const base::LogRedirection redirection([&](base::LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    said += line;
  });
  const base::Interruption never;
  std::optional<FileLock> first(std::in_place, place.files, place.path, "downloads X", never);
  std::atomic<bool> is_in = false;
  auto second = std::async(std::launch::async, [&] {
    const FileLock lock(place.files, place.path, "downloads X", never);
    is_in = true;
  });
  for (int i = 0; i < 500; ++i) {
    std::this_thread::sleep_for(10ms);
    const std::lock_guard lock(mutex);
    if (!said.empty()) break;
  }
  EXPECT_FALSE(is_in);
  first.reset();
  second.get();
  EXPECT_TRUE(is_in);
  EXPECT_THAT(said, testing::HasSubstr("waiting for another process that downloads X"));
}

// As filelock does in newer versions: a lock on a file that has lost its name guards nothing.
TEST(FileLock, SurvivesAHolderThatRemovesTheFile) {
  LockedFolder place;
  const base::Interruption never;
  std::optional<FileLock> first(std::in_place, place.files, place.path, "works", never);
  auto second = std::async(std::launch::async, [&] {
    const FileLock lock(place.files, place.path, "works", never);
    return std::filesystem::exists(place.path);
  });
  std::this_thread::sleep_for(150ms);
  std::filesystem::remove(place.path);
  first.reset();
  EXPECT_TRUE(second.get()) << "it held the lock of a file that is gone";
}

TEST(FileLock, WaitingEndsWhenTheProgramIsStopped) {
  LockedFolder place;
  base::Interruption interruption;
  const FileLock first(place.files, place.path, "works", interruption);
  auto second = std::async(std::launch::async, [&] {
    const FileLock lock(place.files, place.path, "works", interruption);
  });
  interruption.request(SIGTERM);
  EXPECT_THROW(second.get(), base::Interrupted);
}

}  // namespace
}  // namespace paceline::pretrained
