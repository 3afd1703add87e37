#include "paceline/comm/deadline.h"

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

TEST(Within, GivesResultsPassesExceptionsAndLeavesLateCallsBehind) {
  EXPECT_EQ(within(std::chrono::minutes(1), [] { return 7; }), 7);
  EXPECT_THROW(within(std::chrono::minutes(1), []() -> int { throw std::runtime_error("x"); }),
               std::runtime_error);
  const auto release = std::make_shared<std::promise<void>>();
  const auto late = within(std::chrono::milliseconds(1), [waits = release->get_future().share()] {
    waits.wait();
    return 1;
  });
  EXPECT_EQ(late, std::nullopt);
  release->set_value();
}

}  // namespace
}  // namespace paceline::comm
