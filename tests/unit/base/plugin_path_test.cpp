#include "paceline/base/plugin_path.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

TEST(PluginPath, IsBesideTheProgramUnlessTheEnvironmentNamesAnother) {
  constexpr Plugin kPlugin{"PACELINE_PLUGIN_OF_TEST", "libx.so"};
  const fs::path program = fs::canonical("/proc/self/exe");
  const fs::path beside = program.parent_path().parent_path() / "lib/libx.so";
  EXPECT_EQ(plugin_path(kPlugin), beside);
  ASSERT_EQ(setenv(kPlugin.variable, "", 1), 0);
  EXPECT_EQ(plugin_path(kPlugin), beside);
  ASSERT_EQ(setenv(kPlugin.variable, "/elsewhere/liby.so", 1), 0);
  EXPECT_EQ(plugin_path(kPlugin), "/elsewhere/liby.so");
  ASSERT_EQ(unsetenv(kPlugin.variable), 0);
}

}  // namespace
}  // namespace paceline::base
