#include "paceline/launcher/run_record.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

TEST(ProcessIdentityTest, TellsAProcessFromALaterOne) {
  const auto self = identity_of(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self, identity_of(getpid()));
  ProcessIdentity earlier = *self;
  --earlier.start_ticks;
  EXPECT_NE(self, earlier);
  EXPECT_FALSE(RunRecord{.launcher = earlier}.is_alive());
  EXPECT_TRUE(RunRecord{.launcher = *self}.is_alive());
}

TEST(ProcessIdentityTest, AnEndedProcessIsNone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(identity_of(child)) << "not yet reaped, but no longer running";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(identity_of(child));
}

TEST(RunRecordTest, SurvivesTheFile) {
  const base::TempDir folder;
  const auto path = launcher_file(folder.path(), 0, ".json");
  EXPECT_FALSE(read_record(path));
  RunRecord record{.launcher = *identity_of(getpid()),
                   .host = "here",
                   .command = {"a", "b c"},
                   .started_at = "2026-01-31T17:45:00+0000",
                   .exit_code = std::nullopt};
  write_record(path, record);
  const auto running = read_record(path);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->launcher, record.launcher);
  EXPECT_EQ(running->host, "here");
  EXPECT_EQ(running->command, record.command);
  EXPECT_EQ(running->exit_code, std::nullopt);
  record.exit_code = 143;
  write_record(path, record);
  EXPECT_EQ(read_record(path)->exit_code, 143);
}

TEST(RunRecordTest, TakesBytesThatAreNotUtf8) {
  const base::TempDir folder;
  const auto path = launcher_file(folder.path(), 0, ".json");
  write_record(path, {.launcher = *identity_of(getpid()), .command = {"a\xff.yaml"}});
  EXPECT_EQ(read_record(path)->command, std::vector<std::string>{"a\xef\xbf\xbd.yaml"});
}

TEST(RunRecordTest, WhatCannotBeReadIsAnError) {
  const base::TempDir folder;
  const auto path = launcher_file(folder.path(), 0, ".json");
  std::filesystem::create_symlink(path, path);
  EXPECT_THROW(read_record(path), base::CheckpointError);
}

TEST(RunRecordTest, ADamagedFileIsAnError) {
  const base::TempDir folder;
  const auto path = launcher_file(folder.path(), 2, ".json");
  EXPECT_EQ(path.filename(), "launcher_node_2.json");
  std::ofstream(path) << "{\"pid\": 1";
  EXPECT_THROW(read_record(path), base::CheckpointError);
}

}  // namespace
}  // namespace paceline::launcher
