#include "paceline/base/home_path.h"

#include "paceline/base/error.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(HomePath, StandsForATilde) {
  const char* const home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "";
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(with_home("~"), "/home/ada");
  EXPECT_EQ(with_home("~/runs/a"), "/home/ada/runs/a");
  EXPECT_EQ(with_home("~ada/runs"), "~ada/runs");
  EXPECT_EQ(with_home("runs/~/a"), "runs/~/a");
  unsetenv("HOME");
  EXPECT_THROW(with_home("~/runs"), ConfigError);
  EXPECT_EQ(with_home("/runs"), "/runs");
  if (!before.empty()) setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace paceline::base
