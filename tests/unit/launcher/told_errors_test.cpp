#include "paceline/launcher/told_errors.h"

#include "paceline/base/error.h"

#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

/// What is told on standard error.
std::string told(const std::function<int()>& work, int code) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(exit_code_of(work), code);
  return testing::internal::GetCapturedStderr();
}

TEST(ToldErrors, AreTheExitCode) {
  EXPECT_EQ(told([] { return 3; }, 3), "");
  EXPECT_EQ(told([]() -> int { throw base::CommError("lost"); }, 4), "paceline: error: lost\n");
  EXPECT_EQ(told([]() -> int { throw std::runtime_error("odd"); }, 70),
            "paceline: internal error: odd\n");
  const auto list_nothing = []() -> int {
    return std::filesystem::directory_iterator("/absent") == std::filesystem::directory_iterator();
  };
  EXPECT_EQ(told(list_nothing, 5).find("paceline: error: "), 0U);
}

}  // namespace
}  // namespace paceline::launcher
