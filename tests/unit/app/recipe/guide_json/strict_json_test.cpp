#include "paceline/app/recipe/guide_json/strict_json.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(StrictJson, CommasBetweenValuesAreFine) {
  EXPECT_NO_THROW(refuse_trailing_commas(R"({"a": [1, // one, ]
    2], /* , } */ "b": ",]\",}"})",
                                         "f.json"));
  EXPECT_NO_THROW(refuse_trailing_commas("\"open", "f.json"));
}

TEST(StrictJson, ACommaBeforeTheEndIsNamedByItsLine) {
  EXPECT_THAT([] { refuse_trailing_commas("{\"a\": [1,\n 2, // two\n ]}", "f.json"); },
              ThrowsMessage<base::ConfigError>(HasSubstr(
                  "f.json:2: not valid JSON: nothing follows this comma before the ]: remove it")));
  EXPECT_THAT([] { refuse_trailing_commas("{\"a\": 1,}", "f.json"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("f.json:1: ")));
}

}  // namespace
}  // namespace paceline::app
