#include "paceline/launch/rank_process.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

TEST(FindProgramTest, LooksAlongPath) {
  const base::TempDir folder;
  const std::string path = folder.path() / "tool";
  std::ofstream(path) << "#!/bin/sh\n";
  const Environment environment({{"PATH", "/absent:" + folder.path().string()}});
  EXPECT_THROW(find_program("tool", environment), base::ConfigError) << "it is not executable yet";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(find_program("tool", environment), path);
  EXPECT_EQ(find_program(path, Environment()), path);
  EXPECT_THROW(find_program("other", environment), base::ConfigError);
  EXPECT_THROW(find_program(folder.path().string(), environment), base::ConfigError) << "a folder";
}

TEST(ExecProgramTest, SaysWhatCannotBeExecuted) {
  try {
    exec_program({"/absent/program"}, Environment());
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/absent/program: No such file"));
  }
}

TEST(ExecRankTest, RefusesAnotherParent) {
  const std::vector<std::string> arguments{"1", "/bin/true"};  // process 1 did not start this test
  EXPECT_EXIT(_exit(exec_rank(arguments)), testing::ExitedWithCode(137), "");
}

}  // namespace
}  // namespace paceline::launch
