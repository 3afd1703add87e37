#include "paceline/dataset_tools/ct/ct_lock.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <csignal>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(CtLock, RefusesASecondHolderAndNamesTheFirst) {
  const test::TempFolder folder;
  test::UnsyncedFileSystem files;
  const fs::path set = folder.path() / "a" / "set";
  std::optional<CtLock> first(std::in_place, set, files);
  EXPECT_THAT([&] { const CtLock second(set, files); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr(set.string()),
                        HasSubstr(fmt::format("is written by process {} on ", ::getpid())),
                        HasSubstr("name another folder"))));
  EXPECT_THAT([&] { const CtLock third(set, files); }, ::testing::Throws<base::ConfigError>())
      << "the second one has let go what the first one holds";
  first.reset();
  EXPECT_TRUE(fs::is_empty(set)) << "nothing is left of the lock";
  const CtLock free_again(set, files);
}

TEST(CtLock, IsFreeWhenItsHolderDies) {
  const test::TempFolder folder;
  test::UnsyncedFileSystem files;
  const pid_t child = ::fork();
  if (child == 0) {
    const CtLock held(folder.path(), files);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(folder.path() / "lock"));
  { const CtLock taken_over(folder.path(), files); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(CtLock, FollowsNoPlantedLink) {
  const test::TempFolder folder;
  test::UnsyncedFileSystem files;
  const fs::path victim = folder.write("victim", "mine");
  fs::create_directory(folder.path() / "set");
  fs::create_symlink(victim, folder.path() / "set" / "lock");
  EXPECT_THROW(CtLock(folder.path() / "set", files), base::FileError);
  EXPECT_EQ(base::read_file(victim), "mine");
}

}  // namespace
}  // namespace paceline::dataset_tools
