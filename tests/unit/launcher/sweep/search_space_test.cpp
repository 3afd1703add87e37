#include "paceline/launcher/sweep/search_space.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

SearchSpace space_from(const std::vector<std::string>& overrides) {
  return parse_search_space(overrides);
}

TEST(SearchSpaceTest, PartsWhatVariesFromWhatIsFixed) {
  const SearchSpace space =
      space_from({"train.duration=2ep", "optimizer.lr=0.1, 0.2", "~algorithms.ema",
                  "+algorithms.mixup.alpha=uniform(0,0.5)", "run.name="});
  EXPECT_THAT(space.fixed, ElementsAre("train.duration=2ep", "~algorithms.ema", "run.name="));
  ASSERT_EQ(space.axes.size(), 2);
  EXPECT_EQ(space.axes[0].key, "optimizer.lr");
  EXPECT_THAT(space.axes[0].values, ElementsAre("0.1", "0.2"));
  EXPECT_FALSE(space.axes[0].is_drawn());
  EXPECT_EQ(space.axes[1].key, "+algorithms.mixup.alpha");
  EXPECT_EQ(space.axes[1].kind, AxisKind::kUniform);
  EXPECT_EQ(space.axes[1].low, 0);
  EXPECT_EQ(space.axes[1].high, 0.5);
  EXPECT_TRUE(space.has_draws());
}

TEST(SearchSpaceTest, CommasInBracketsAndQuotesPartNothing) {
  const SearchSpace space = space_from(
      {"a=[1,2]", "b=[1,2],[3,4]", "c={x: 1, y: 2}", "d='1,2'", "e=\"1,2\",3", "f=plain"});
  EXPECT_THAT(space.fixed, ElementsAre("a=[1,2]", "c={x: 1, y: 2}", "d='1,2'", "f=plain"));
  EXPECT_THAT(space.axes[0].values, ElementsAre("[1,2]", "[3,4]"));
  EXPECT_THAT(space.axes[1].values, ElementsAre("\"1,2\"", "3"));
}

TEST(SearchSpaceTest, DrawsHaveTwoEnds) {
  EXPECT_EQ(space_from({"a=log(1e-4,1e-1)"}).axes[0].kind, AxisKind::kLog);
  EXPECT_EQ(space_from({"a=int(1, 8)"}).axes[0].high, 8);
  EXPECT_EQ(space_from({"a=uniform(-1,1)"}).axes[0].low, -1);
}

TEST(SearchSpaceTest, WhatMakesNoSenseIsRefused) {
  const auto expect_error = [](const std::vector<std::string>& overrides, const char* text) {
    EXPECT_THAT([&] { space_from(overrides); }, ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_error({"a=1,,2"}, "a value between the commas is empty");
  expect_error({"a=1,2,1"}, "the value 1 stands there twice");
  expect_error({"a=1,2", "a=3,4"}, "a is varied twice");
  expect_error({"+a=1,2", "a=3"}, "+a=1,2 varies what a=3 fixes");
  expect_error({"~a", "a=1,2"}, "a=1,2 varies what ~a fixes");
  expect_error({"a=log(0,1)"}, "numbers above 0");
  expect_error({"a=log(1)"}, "with two numbers");
  expect_error({"a=uniform(2,1)"}, "a first number below the second");
  expect_error({"a=int(1,2.5)"}, "whole numbers");
  expect_error({"a=choice(1,2)"}, "write the values with commas between them");
  expect_error({"a=loguniform(1,2)"}, "write log(LOW,HIGH)");
  expect_error({"a=normal(0,1)"}, "there is no draw 'normal'; expected log(LOW,HIGH)");
}

TEST(SearchSpaceTest, ASecretIsNotRepeated) {
  for (const char* override : {"+x.password=swordfish,swordfish", "x.token=swordfish"})
    EXPECT_THAT([&] { space_from({override}); },
                ThrowsMessage<base::ConfigError>(testing::Not(HasSubstr("swordfish"))));
}

}  // namespace
}  // namespace paceline::launcher
