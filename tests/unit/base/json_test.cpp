#include "paceline/base/json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::base {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string nested(std::size_t depth, const std::string& open, const std::string& close,
                   const std::string& inner) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += inner;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

std::string complaint(const std::string& text, std::size_t most_bytes = kMostJsonBytes) {
  try {
    parse_json(text, most_bytes);
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ReadsValues) {
  EXPECT_EQ(parse_json(R"({"a": [1, 2.5, "x"]})").at("a").at(1), 2.5);
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "a": 2})").dump(), R"({"b":1,"a":2})");
}

TEST(Json, IsAsDeepAsAReaderNeedsAndNoDeeper) {
  EXPECT_EQ(complaint(nested(kDeepestJson, "[", "]", "1")), "");
  EXPECT_EQ(complaint(nested(kDeepestJson / 2, R"([{"a":)", "}]", "1")), "");
  const std::string too_deep = complaint(nested(kDeepestJson + 1, "[", "]", "1"));
  EXPECT_EQ(too_deep, "its JSON is nested more than 64 deep at line 1, column 65");
}

TEST(Json, ABombOfBracketsIsAnErrorAndNoCrash) {
  for (const std::string open : {"[", R"({"a":)", R"([{"":)"}) {
    EXPECT_THAT(complaint(nested(2'000'000, open, "", "")), HasSubstr("deep")) << open;
  }
}

TEST(Json, BracketsInTextAreNotDepth) {
  EXPECT_EQ(complaint('"' + std::string(1000, '[') + R"(\"[[\\")"), "");
}

TEST(Json, HasABoundOnBytes) {
  EXPECT_EQ(complaint("[1,2]", 5), "");
  EXPECT_THAT(complaint("[1,2]", 4), HasSubstr("5 bytes, more than the 4"));
}

TEST(Json, SaysWhereItIsWrongAndQuotesNothing) {
  const std::string message = complaint("{\n  \"a\": secret\n}");
  EXPECT_THAT(message, HasSubstr("not valid JSON at line 2, column"));
  EXPECT_THAT(message, Not(HasSubstr("secret")));
}

TEST(Json, OtherFaultsAreErrorsToo) {
  for (const char* text : {"", "[", "\"", "\"\\", "]", "}", "1e999999", "\xff", "{\"a\"}"}) {
    EXPECT_NE(complaint(text), "") << text;
  }
}

}  // namespace
}  // namespace paceline::base
