#include "paceline/launcher/sweep/halving.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(HalvingTest, TheLastRungIsTheLongestWhateverItIs) {
  const std::vector<Rung> rungs = halving_rungs(20, {1, "ep"}, {30, "ep"}, 3);
  ASSERT_EQ(rungs.size(), 4);
  EXPECT_EQ(rungs[2].duration, "9ep");
  EXPECT_EQ(rungs[3].duration, "30ep");
  EXPECT_EQ(rungs[3].num_trials, 1) << "20 / 27 is less than one, but somebody wins";
  EXPECT_NEAR(rungs[3].work, 21.0 / 30, 1e-12);
  EXPECT_EQ(halving_rungs(5, {4, "ba"}, {4, "ba"}, 3).size(), 1);
  EXPECT_EQ(halving_rungs(5, {4, "ba"}, {11, "ba"}, 3).size(), 1) << "not three times as long";
}

TEST(HalvingTest, LengthsAreWholeAndOfOneUnit) {
  EXPECT_EQ(CountedDuration::parse("--min-duration", "500ba").to_string(), "500ba");
  for (const char* text : {"1.5ep", "0ep", "2h", "1e5sp", "3", "ep", "", "-1ep", "infep"})
    EXPECT_THAT([&] { CountedDuration::parse("--min-duration", text); },
                ThrowsMessage<base::ConfigError>(HasSubstr("--min-duration wants whole epochs")))
        << text;
  EXPECT_THAT(
      [] {
        halving_rungs(9, {1, "ep"}, {900, "ba"}, 3);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("write both in one")));
  EXPECT_THAT(
      [] {
        halving_rungs(9, {3, "ep"}, {2, "ep"}, 3);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("is longer than --max-duration 2ep")));
}

}  // namespace
}  // namespace paceline::launcher
