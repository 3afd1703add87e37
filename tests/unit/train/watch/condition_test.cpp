#include "paceline/train/watch/condition.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(Condition, ComparesOneMetric) {
  const std::map<std::string, double> values{{"val/top1", 0.78}, {"val/loss", 1.5}};
  EXPECT_TRUE(Condition::parse("val/top1 >= 0.78").holds(values));
  EXPECT_FALSE(Condition::parse("val/top1 > 0.78").holds(values));
  EXPECT_TRUE(Condition::parse("val/loss<2").holds(values));
  EXPECT_TRUE(Condition::parse("val/loss <= 1.5").holds(values));
  EXPECT_FALSE(Condition::parse("val/top5 >= 0").holds(values)) << "a metric that is not there";
}

TEST(Condition, PrintsWhatItParsed) {
  EXPECT_EQ(Condition::parse("val/top1>=0.78").to_string(), "val/top1 >= 0.78");
}

TEST(Condition, SaysWhatItExpected) {
  for (const char* text :
       {"val/top1", "val/top1 == 1", ">= 0.5", "val/top1 >= x", "val/top1 >= 1 2"}) {
    try {
      Condition::parse(text);
      FAIL() << text << " was accepted";
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("expected METRIC >=|>|<=|< NUMBER")) << text;
    }
  }
}

}  // namespace
}  // namespace paceline::train
