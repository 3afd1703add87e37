#include "paceline/algorithms/mixing/turns.h"

#include "support/chi_square.h"

#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

bool has_first_turn(Turns turns, const GroupKey& key) {
  return has_turn(turns, TurnOf::kFirst, key);
}
bool has_second_turn(Turns turns, const GroupKey& key) {
  return has_turn(turns, TurnOf::kSecond, key);
}

TEST(Turns, ASwitchTakesOneOfBothEachAsOften) {
  std::vector<int> counts(4);  // of pairs of turns in consecutive steps
  for (std::int64_t step = 0; step < 8'000; step += 2) {
    std::size_t pair = 0;
    for (const std::int64_t each : {step, step + 1}) {
      const GroupKey key{1, each, 64};
      EXPECT_NE(has_first_turn(Turns::kSwitch, key), has_second_turn(Turns::kSwitch, key));
      pair = 2 * pair + (has_second_turn(Turns::kSwitch, key) ? 1 : 0);
    }
    ++counts.at(pair);
  }
  EXPECT_LT(test::chi_square(counts), 16.3);  // 3 degrees of freedom, 0.1 %
}

TEST(Turns, ASwitchIsOfThePlaceToo) {
  int num_apart = 0;
  for (std::int64_t step = 0; step < 100; ++step)
    num_apart += has_first_turn(Turns::kSwitch, {1, step, 0}) !=
                 has_first_turn(Turns::kSwitch, {1, step, 4});
  EXPECT_GT(num_apart, 25);
  EXPECT_LT(num_apart, 75);
}

TEST(Turns, AlternateByTheStep) {
  EXPECT_TRUE(has_first_turn(Turns::kAlternate, {1, 4, 0}));
  EXPECT_FALSE(has_second_turn(Turns::kAlternate, {1, 4, 0}));
  EXPECT_FALSE(has_first_turn(Turns::kAlternate, {1, 5, 8}));
  EXPECT_TRUE(has_second_turn(Turns::kAlternate, {1, 5, 8}));
}

TEST(Turns, AreForBothWhereOneFollowsTheOther) {
  for (std::int64_t step = 0; step < 4; ++step) {
    EXPECT_TRUE(has_first_turn(Turns::kSequential, {1, step, 0}));
    EXPECT_TRUE(has_second_turn(Turns::kSequential, {1, step, 0}));
  }
}

}  // namespace
}  // namespace paceline::algorithms
