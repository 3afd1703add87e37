#include "paceline/cli/work_progress.h"

#include "paceline/base/text.h"

#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

/// The lines that a thousand updates write.
std::size_t num_lines(WorkProgress::Clock::duration pause) {
  testing::internal::CaptureStderr();
  {
    WorkProgress progress("images", pause);
    for (int done = 1; done <= 1000; ++done) progress.update(done, 1000);
  }
  return base::split(testing::internal::GetCapturedStderr(), '\n').size() - 1;
}

TEST(WorkProgress, InAPipeTenLinesOfLongWorkAndNoneOfShortWork) {
  EXPECT_EQ(num_lines(WorkProgress::Clock::duration::zero()), 10u);
  EXPECT_EQ(num_lines(std::chrono::hours(1)), 0u);
}

}  // namespace
}  // namespace paceline::cli
