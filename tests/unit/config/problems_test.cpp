#include "paceline/config/problems.h"

#include "paceline/base/error.h"
#include "paceline/config/parse.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

TEST(Problems, OneStandsAloneAndSeveralAreListed) {
  Problems problems;
  EXPECT_NO_THROW(problems.throw_if_any());
  problems.add({{"r.yaml", 3}, "a.b", "is wrong"});
  EXPECT_EQ(problems.message(), "r.yaml:3: a.b: is wrong");
  problems.add({{}, "", "is bad"});
  EXPECT_EQ(problems.message(),
            "2 problems in the configuration:\n  r.yaml:3: a.b: is wrong\n  is bad");
  EXPECT_THROW(problems.throw_if_any(), base::ConfigError);
}

TEST(Problems, ShowsTheFirstThirtyEachInOneLine) {
  Problems problems;
  for (int i = 0; i < 100; ++i)
    problems.add({{"r", 1}, "a\nb" + std::string(200, 'x'), "is wrong"});
  const std::string message = problems.message();
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 31);
  EXPECT_TRUE(message.ends_with("\n  and 70 more")) << message;
}

TEST(Problems, FieldsAreFoundInTheirSection) {
  const Node section = parse_yaml("x: 1\ny:\n  z: 2", "r.yaml");
  Problems problems;
  problems.enter("s", &section);
  problems.add("y.z", "one");
  problems.add("absent", "two");
  problems.add("", "three");
  problems.enter("t", nullptr);
  problems.add("x", "four");
  EXPECT_EQ(problems.message(), R"(4 problems in the configuration:
  r.yaml:3: s.y.z: one
  r.yaml:1: s.absent: two
  r.yaml:1: s: three
  t.x: four)");
}

}  // namespace
}  // namespace paceline::config
