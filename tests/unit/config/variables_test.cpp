#include "paceline/config/variables.h"

#include "paceline/config/parse.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Variables : public ::testing::Test {
 protected:
  Variables() {
    setenv("PACELINE_TEST_PLACE", "/scratch/7", 1);
    setenv("PACELINE_TEST_LR", "1e-3", 1);
    setenv("PACELINE_TEST_BRACES", "${PACELINE_TEST_LR}", 1);
    setenv("PACELINE_TEST_TOKEN", "abc", 1);
    setenv("PACELINE_TEST_KEY", "hf_abcdefghijklmnopqrst", 1);
    setenv("PACELINE_TEST_EMPTY", "", 1);
    unsetenv("PACELINE_TEST_UNSET");
  }

  static Node expanded(const std::string& yaml) {
    Node node = parse_yaml(yaml, "r.yaml");
    Problems problems;
    expand_variables(node, problems);
    problems.throw_if_any();
    return node;
  }
  static std::string text_of(const std::string& value) {
    return expanded("a: " + value).find("a")->text;
  }
  static std::string problem_of(const std::string& value) {
    Node node = parse_yaml("data:\n  path:\n  - x\n  - " + value, "r.yaml");
    Problems problems;
    expand_variables(node, problems);
    return problems.message();
  }
};

TEST_F(Variables, StandAnywhereInAScalar) {
  EXPECT_EQ(text_of("${PACELINE_TEST_PLACE}/imagenet"), "/scratch/7/imagenet");
  EXPECT_EQ(text_of("'a-${PACELINE_TEST_LR}-${oc.env:PACELINE_TEST_LR}'"), "a-1e-3-1e-3");
  const Node number = expanded("- {lr: \"${PACELINE_TEST_LR}\"}\n- ${PACELINE_TEST_LR}");
  EXPECT_FALSE(number.items[0].find("lr")->is_quoted);  // a number, although braces need quotes
  EXPECT_FALSE(number.items[1].is_quoted);
  EXPECT_TRUE(expanded("a: 'x${PACELINE_TEST_LR}'").find("a")->is_quoted);
  EXPECT_EQ(text_of("$PACELINE_TEST_LR {}"), "$PACELINE_TEST_LR {}");
  EXPECT_EQ(text_of("${PACELINE_TEST_BRACES}"), "${PACELINE_TEST_LR}");  // not read again
}

TEST_F(Variables, HaveDefaults) {
  EXPECT_EQ(text_of("${oc.env:PACELINE_TEST_UNSET,/data}/x"), "/data/x");
  EXPECT_EQ(text_of("'${env:PACELINE_TEST_UNSET, /data}'"), "/data");
  EXPECT_EQ(text_of("${PACELINE_TEST_UNSET:-/data}"), "/data");
  EXPECT_EQ(text_of("${PACELINE_TEST_LR:-2}"), "1e-3");
  EXPECT_EQ(text_of("'${PACELINE_TEST_UNSET,${PACELINE_TEST_PLACE}/y}'"), "/scratch/7/y");
  EXPECT_EQ(text_of("'${PACELINE_TEST_UNSET,}'"), "");
  EXPECT_TRUE(expanded("a: ${PACELINE_TEST_UNSET:-null}").find("a")->is_null());
  EXPECT_TRUE(expanded("a: '${PACELINE_TEST_UNSET:-null}'").find("a")->is_null());
  EXPECT_FALSE(expanded("a: 'null'").find("a")->is_null());
  EXPECT_EQ(text_of("${PACELINE_TEST_EMPTY:-2}"), "2");  // as in a shell
  EXPECT_EQ(text_of("'${oc.env:PACELINE_TEST_EMPTY,2}'"), "");
}

TEST_F(Variables, WhatCannotBePutInIsToldWithItsPlace) {
  EXPECT_THAT(
      problem_of("${PACELINE_TEST_UNSET}"),
      AllOf(HasSubstr("r.yaml:4: data.path[1]"), HasSubstr("no variable PACELINE_TEST_UNSET"),
            HasSubstr("${oc.env:PACELINE_TEST_UNSET,default}")));
  EXPECT_THAT(problem_of("'${data.path}'"), HasSubstr("other keys cannot be referred to"));
  EXPECT_THAT(problem_of("'${now:%Y}'"), HasSubstr("'${now:%Y}' is no variable"));
  EXPECT_THAT(problem_of("'${}'"), HasSubstr("is no variable"));
  EXPECT_THAT(problem_of("'${1}'"), HasSubstr("is no variable"));
  EXPECT_THAT(problem_of("'${PACELINE_TEST_LR'"), HasSubstr("lacks its closing brace"));
  std::string deep = "x";
  for (int i = 0; i < 20; ++i) deep = "${PACELINE_TEST_UNSET," + deep + "}";
  EXPECT_THAT(problem_of("'" + deep + "'"), HasSubstr("nested too deep"));
}

TEST_F(Variables, SecretsAreNotPutIn) {
  for (const char* name : {"PACELINE_TEST_TOKEN", "PACELINE_TEST_KEY", "AWS_SECRET_ACCESS_KEY"}) {
    const std::string problem = problem_of(std::string("'${") + name + ",none}'");
    EXPECT_THAT(problem, HasSubstr("seems to hold a secret")) << name;
    EXPECT_EQ(problem.find("abc"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace paceline::config
