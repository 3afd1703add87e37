#include "paceline/checkpoint/run_lock.h"

#include "paceline/base/file.h"
#include "support/unsynced_file_system.h"
#include "unit/checkpoint/messages.h"

#include <chrono>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::checkpoint {
namespace {

using ::testing::HasSubstr;

TEST(RunLock, RefusesASecondHolderAndNamesTheFirst) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  const auto run = dir.path() / "a" / "run";
  auto lock = std::make_unique<RunLock>(run, "--run-dir", files);
  EXPECT_THAT(message_of([&] { RunLock second(run, "--run-dir", files); }),
              ::testing::AllOf(HasSubstr(run.string()),
                               HasSubstr(fmt::format("in use by process {} on ", getpid())),
                               HasSubstr("--run-dir")));
  lock.reset();
  const RunLock free_again(run, "--run-dir", files);
}

TEST(RunLock, FollowsNoPlantedLink) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  base::write_file_atomically(files, dir.path() / "victim", "mine");
  std::filesystem::create_directory(dir.path() / "run");
  std::filesystem::create_symlink(dir.path() / "victim", dir.path() / "run/lock");
  EXPECT_THAT(message_of([&] { RunLock lock(dir.path() / "run", "--run-dir", files); }),
              HasSubstr("is a symbolic link"));
  EXPECT_EQ(base::read_file(dir.path() / "victim"), "mine");
}

TEST(RunLock, FollowsNoHardLink) {
  const base::TempDir dir;
  base::RealFileSystem files;
  base::write_file_atomically(files, dir.path() / "victim", "mine");
  std::filesystem::create_directory(dir.path() / "run");
  std::filesystem::create_hard_link(dir.path() / "victim", dir.path() / "run/lock");
  EXPECT_THAT(message_of([&] { RunLock lock(dir.path() / "run", "--run-dir", files); }),
              HasSubstr("is a hard link"));
  EXPECT_EQ(base::read_file(dir.path() / "victim"), "mine");
}

TEST(RunLock, SweepsWhatKilledProcessesHaveLeft) {
  const base::TempDir dir;
  base::RealFileSystem files;
  const auto make = [&](const std::filesystem::path& path, std::chrono::minutes age) {
    files.create(path)->close();
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
    return path;
  };
  const auto old = make(base::unfinished_path(dir.path() / "summary.json"), std::chrono::hours(2));
  const auto young =
      make(base::unfinished_path(dir.path() / "w.safetensors"), std::chrono::minutes(2));
  const auto theirs = make(dir.path() / "notes.tmp-1", std::chrono::hours(2));
  const RunLock lock(dir.path(), "--run-dir", files);
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(young)) << "somebody may be writing it";
  EXPECT_TRUE(std::filesystem::exists(theirs));
}

TEST(RunLock, ALockThatIsNoLockIsNotRead) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  const RunLock held(dir.path(), "--run-dir", files);
  std::filesystem::resize_file(dir.path() / "lock", 1 << 20);
  EXPECT_THAT(message_of([&] { RunLock second(dir.path(), "--run-dir", files); }),
              HasSubstr("more than 4096 bytes"));
}

TEST(RunLock, KnowsWhenItsDirectoryIsGone) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  const auto run = dir.path() / "run";
  const RunLock lock(run, "--run-dir", files);
  EXPECT_NO_THROW(lock.require());
  std::filesystem::remove_all(run);
  EXPECT_THAT(message_of([&] { lock.require(); }), HasSubstr("run is gone"));
  const RunLock another(run, "--run-dir", files);  // of the same name
  EXPECT_THAT(message_of([&] { lock.require(); }), HasSubstr("run is gone"));
}

TEST(RunLock, ADeadHolderHoldsNothing) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(dir.path(), "--run-dir", files);
    _exit(0);  // without unlocking
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(base::read_file(dir.path() / "lock").substr(0, 8), "process ");
  const RunLock lock(dir.path(), "--run-dir", files);
}

TEST(RunLock, SaysWhyADirectoryCannotBeWritten) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  base::RealFileSystem().create(dir.path() / "file");
  EXPECT_THAT(message_of([&] { RunLock lock(dir.path() / "file" / "run", "--run-dir", files); }),
              HasSubstr("file/run"));
  const auto proc = std::filesystem::path("/proc/self");  // read-only also for root
  EXPECT_THAT(message_of([&] { RunLock lock(proc, "--run-dir", files); }),
              HasSubstr("cannot write /proc/self/lock"));
}

}  // namespace
}  // namespace paceline::checkpoint
