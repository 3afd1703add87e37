#include "paceline/config/duration.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

using test::error_of;

TEST(Duration, ParsesEveryUnit) {
  EXPECT_EQ(Duration::parse("90ep"), (Duration{90, TimeUnit::kEpoch}));
  EXPECT_EQ(Duration::parse("0.5ep"), (Duration{0.5, TimeUnit::kEpoch}));
  EXPECT_EQ(Duration::parse("5_000ba"), (Duration{5000, TimeUnit::kBatch}));
  EXPECT_EQ(Duration::parse("1.2e6sp"), (Duration{1.2e6, TimeUnit::kSample}));
  EXPECT_EQ(Duration::parse("0.7dur"), (Duration{0.7, TimeUnit::kFraction}));
  EXPECT_EQ(Duration::parse("2h30m"), (Duration{9000, TimeUnit::kSecond}));
  EXPECT_EQ(Duration::parse(" 90M "), (Duration{5400, TimeUnit::kSecond}));
  EXPECT_EQ(Duration::parse("1h1s"), (Duration{3601, TimeUnit::kSecond}));
  EXPECT_EQ(Duration::parse("1.5sec"), (Duration{1.5, TimeUnit::kSecond}));
}

TEST(Duration, SaysWhatIsWrong) {
  const auto reason = [](const char* text) {
    const std::string message = error_of([&] { Duration::parse(text); });
    return message.substr(0, message.find("; write for example"));
  };
  EXPECT_EQ(reason("90"), "'90' is not a duration: the unit is missing");
  EXPECT_EQ(reason(""), "'' is not a duration: it is empty");
  EXPECT_EQ(reason("ten"), "'ten' is not a duration: it does not start with a number");
  EXPECT_EQ(reason("90 epochs"), "'90 epochs' is not a duration: ' epochs' is not a unit");
  EXPECT_EQ(reason("90epochs"), "'90epochs' is not a duration: unknown unit 'epochs'");
  EXPECT_EQ(reason("1.5ba"), "'1.5ba' is not a duration: steps and samples are whole numbers");
  EXPECT_EQ(reason("1.5dur"),
            "'1.5dur' is not a duration: a share of the run lies between 0 and 1");
  EXPECT_EQ(reason("-1ep"), "'-1ep' is not a duration: it must be 0 or more");
  EXPECT_EQ(reason("30m2h"),
            "'30m2h' is not a duration: hours come before minutes and minutes before seconds");
  EXPECT_EQ(reason("1ep2ba"), "'1ep2ba' is not a duration: only h, m and s combine");
}

TEST(Duration, TextRoundTrips) {
  for (const char* text : {"90ep", "0.5ep", "5000ba", "1200000sp", "0.7dur", "2h30m", "1h1s", "45m",
                           "1.5s", "0s", "0ep", "100h"}) {
    EXPECT_EQ(Duration::parse(text).to_string(), text);
  }
  const Duration huge{1e15, TimeUnit::kSample};
  EXPECT_EQ(Duration::parse(huge.to_string()), huge);
}

TEST(Duration, CountsSteps) {
  const StepLengths lengths{.total_steps = 1000, .steps_per_epoch = 79, .samples_per_step = 128};
  const auto steps = [&](const char* text) { return to_steps(Duration::parse(text), lengths); };
  EXPECT_EQ(steps("3ep"), 237);
  EXPECT_EQ(steps("0.5ep"), 40);
  EXPECT_EQ(steps("5ba"), 5);
  EXPECT_EQ(steps("128sp"), 1);
  EXPECT_EQ(steps("129sp"), 2);
  EXPECT_EQ(steps("0.7dur"), 700);  // 0.7 * 1000 is 700 and a bit less or more in binary
  EXPECT_EQ(steps("0.1001dur"), 101);
  EXPECT_EQ(steps("0dur"), 0);
}

TEST(Duration, WallClockAndUnknownLengthsHaveNoSteps) {
  EXPECT_EQ(error_of([] { to_steps(Duration::parse("2h30m"), {}); }),
            "'2h30m' is wall-clock time, which cannot be counted in steps: it may only stop a run; "
            "write it "
            "in ep, ba, sp or dur");
  EXPECT_EQ(error_of([] { to_steps(Duration::parse("0.5dur"), {}); }),
            "'0.5dur' is a share of a run whose length is not known in steps: give train.duration "
            "in ep, ba "
            "or sp, or write this one in them");
  EXPECT_THROW(to_steps(Duration::parse("1ep"), {}), base::InternalError);
}

}  // namespace
}  // namespace paceline::config
