#include "paceline/config/field_rule.h"

#include "paceline/config/parse.h"

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

std::string judge(const FieldRule& rule, const char* yaml) {
  return rule.violation(parse_yaml(yaml, "r")).value_or("fine");
}

TEST(FieldRule, LimitsNumbers) {
  EXPECT_EQ(judge(AtLeast{0}, "0"), "fine");
  EXPECT_EQ(judge(AtLeast{0}, "-0.5"), "must be at least 0, got -0.5");
  EXPECT_EQ(judge(AtMost{1.5}, "1.5"), "fine");
  EXPECT_EQ(judge(AtMost{1.5}, ".inf"), "must be at most 1.5, got .inf");
  EXPECT_EQ(judge(MoreThan{0}, "1e-9"), "fine");
  EXPECT_EQ(judge(MoreThan{0}, "0"), "must be more than 0, got 0");
  EXPECT_EQ(judge(LessThan{1}, "0.999"), "fine");
  EXPECT_EQ(judge(LessThan{1}, "1"), "must be less than 1, got 1");
  EXPECT_EQ(judge(InRange{0, 1}, "0"), "fine");
  EXPECT_EQ(judge(InRange{0, 1}, "1"), "fine");
  EXPECT_EQ(judge(InRange{0, 1}, "1.01"), "must be between 0 and 1, got 1.01");
}

TEST(FieldRule, LimitsDurationsByTheirCount) {
  EXPECT_EQ(judge(MoreThan{0}, "0ep"), "must be more than 0, got 0ep");
  EXPECT_EQ(judge(MoreThan{0}, "1ep"), "fine");
  EXPECT_EQ(judge(AtLeast{60}, "30s"), "must be at least 60, got 30s");
}

TEST(FieldRule, LooksIntoContainersAndPassesNull) {
  EXPECT_EQ(judge(LessThan{1}, "[0.9, 1.1]"), "must be less than 1, got 1.1");
  EXPECT_EQ(judge(AtLeast{0}, "{a: 1, b: -1}"), "must be at least 0, got -1");
  EXPECT_EQ(judge(AtLeast{0}, "null"), "fine");
}

TEST(FieldRule, LimitsTexts) {
  EXPECT_EQ(judge(OneOf("a", "b"), "b"), "fine");
  EXPECT_EQ(judge(OneOf("a", "b"), "c"), "must be one of a, b, got c");
  EXPECT_EQ(judge(NotEmpty{}, "''"), "must not be empty");
  EXPECT_EQ(judge(NotEmpty{}, "[]"), "must not be empty");
  EXPECT_EQ(judge(NotEmpty{}, "{}"), "must not be empty");
  EXPECT_EQ(judge(NotEmpty{}, "[a]"), "fine");
  EXPECT_EQ(judge(NotEmpty{}, "x"), "fine");
}

TEST(FieldRule, SaysWhyThereIsALimit) {
  EXPECT_EQ(judge(AtMost(8, "no machine has more"), "9"),
            "must be at most 8 (no machine has more), got 9");
  EXPECT_EQ(AtMost(8, "no machine has more").text(), "at most 8");
}

TEST(FieldRule, PlainNamesStayInTheirFolder) {
  for (const char* name : {"a", "a.b", "...", ".a", "a b"}) {
    EXPECT_EQ(judge(PlainName{}, name), "fine") << name;
  }
  const std::string long_name(201, 'x');
  for (const char* name : {"''", ".", "..", "/", "a/b", "../a", "/a", long_name.c_str()}) {
    EXPECT_NE(judge(PlainName{}, name).find("a plain name without '/'"), std::string::npos) << name;
  }
}

TEST(FieldRule, MarkersLimitNothing) {
  EXPECT_EQ(judge(Required{}, "''"), "fine");
  EXPECT_EQ(judge(MayChangeOnResume{}, "-1"), "fine");
  EXPECT_EQ(Required{}.text(), "");
}

}  // namespace
}  // namespace paceline::config
