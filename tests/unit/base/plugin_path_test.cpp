#include "paceline/base/plugin_path.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

TEST(PluginPath, IsBesideTheProgramUnlessTheEnvironmentNamesAnother) {
  constexpr const char* kVariable = "PACELINE_PLUGIN_OF_TEST";
  const fs::path program = fs::canonical("/proc/self/exe");
  const fs::path beside = program.parent_path().parent_path() / "lib/libx.so";
  EXPECT_EQ(plugin_path(kVariable, "libx.so"), beside);
  ASSERT_EQ(setenv(kVariable, "", 1), 0);
  EXPECT_EQ(plugin_path(kVariable, "libx.so"), beside);
  ASSERT_EQ(setenv(kVariable, "/elsewhere/liby.so", 1), 0);
  EXPECT_EQ(plugin_path(kVariable, "libx.so"), "/elsewhere/liby.so");
  ASSERT_EQ(unsetenv(kVariable), 0);
}

}  // namespace
}  // namespace paceline::base
