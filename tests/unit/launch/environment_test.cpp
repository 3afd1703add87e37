#include "paceline/launch/environment.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

TEST(EnvironmentTest, EmptyCountsAsUnset) {
  const Environment environment({{"EMPTY", ""}, {"FULL", "x"}});
  EXPECT_FALSE(environment.has("EMPTY"));
  EXPECT_FALSE(environment.has("ABSENT"));
  EXPECT_EQ(environment.get_or("FULL", "y"), "x");
  EXPECT_EQ(environment.get_or("EMPTY", "y"), "y");
}

TEST(EnvironmentTest, DefaultsKeepWhatTheUserSet) {
  Environment environment({{"OMP_NUM_THREADS", "7"}, {"OMP_WAIT_POLICY", ""}});
  environment.set_default("OMP_NUM_THREADS", "1");
  environment.set_default("OMP_WAIT_POLICY", "passive");
  EXPECT_THAT(environment.entries(),
              testing::ElementsAre("OMP_NUM_THREADS=7", "OMP_WAIT_POLICY=passive"));
}

TEST(EnvironmentTest, ReadsThisProcess) {
  ASSERT_EQ(setenv("PACELINE_TEST_VARIABLE", "a=b", 1), 0);
  EXPECT_EQ(Environment::of_process().get("PACELINE_TEST_VARIABLE"), "a=b");
}

TEST(EnvironmentTest, NumbersAreWholeAndInRange) {
  const Environment environment(
      {{"N", "12"}, {"WORD", "two"}, {"MIXED", "3x"}, {"BIG", "99999999999"}});
  EXPECT_EQ(environment.get_int("N", 0, 12), 12);
  EXPECT_EQ(environment.get_int("ABSENT", 0, 12), std::nullopt);
  EXPECT_THROW(environment.get_int("N", 0, 11), base::ConfigError);
  EXPECT_THROW(environment.get_int("MIXED", 0, 100), base::ConfigError);
  EXPECT_THROW(environment.get_int("BIG", 0, 100), base::ConfigError);
  try {
    environment.get_int("WORD", 1, 8);
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("WORD"), testing::HasSubstr("\"two\""),
                               testing::HasSubstr("1 to 8")));
  }
}

}  // namespace
}  // namespace paceline::launch
