#include "paceline/optim/new_part.h"

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(NewPart, FallsFromOne) {
  const auto schedule = make(NewPartConfig{.decay = 0.5}, RunLength{});
  EXPECT_EQ(schedule->factor(0), 1.0);
  EXPECT_EQ(schedule->factor(2), 0.5);
}

}  // namespace
}  // namespace paceline::optim
