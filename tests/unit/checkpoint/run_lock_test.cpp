#include "paceline/checkpoint/run_lock.h"

#include "paceline/base/file.h"
#include "unit/checkpoint/messages.h"

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
  const auto run = dir.path() / "a" / "run";
  auto lock = std::make_unique<RunLock>(run, "--run-dir");
  EXPECT_THAT(message_of([&] { RunLock second(run, "--run-dir"); }),
              ::testing::AllOf(HasSubstr(run.string()),
                               HasSubstr(fmt::format("in use by process {} on ", getpid())),
                               HasSubstr("--run-dir")));
  lock.reset();
  const RunLock free_again(run, "--run-dir");
}

TEST(RunLock, ADeadHolderHoldsNothing) {
  const base::TempDir dir;
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock(dir.path(), "--run-dir");
    _exit(0);  // without unlocking
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(base::read_file(dir.path() / "lock").substr(0, 8), "process ");
  const RunLock lock(dir.path(), "--run-dir");
}

TEST(RunLock, SaysWhyADirectoryCannotBeWritten) {
  const base::TempDir dir;
  base::RealFileSystem().create(dir.path() / "file");
  EXPECT_THAT(message_of([&] { RunLock lock(dir.path() / "file" / "run", "--run-dir"); }),
              HasSubstr("file/run"));
  const auto proc = std::filesystem::path("/proc/self");  // read-only also for root
  EXPECT_THAT(message_of([&] { RunLock lock(proc, "--run-dir"); }),
              HasSubstr("cannot write /proc/self/lock"));
}

}  // namespace
}  // namespace paceline::checkpoint
