#include "paceline/config/reference/json_schema.h"

#include "unit/config/test_recipe.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::config::test {

/// A component that takes others of its kind.
struct AroundOthersOptions {
  std::vector<Component> transforms;
};

}  // namespace paceline::config::test

template <>
struct paceline::config::Schema<paceline::config::test::AroundOthersOptions> {
  using Options = test::AroundOthersOptions;
  static constexpr std::string_view name = "around_others";
  static constexpr std::string_view summary = "Takes others.";
  static constexpr auto fields = std::tuple{
      of_kind("transform", component(&Options::transforms, "transforms", "Which.", NotEmpty{}))};
};

namespace paceline::config::test {
namespace {

using Json = nlohmann::json;

Json recipe_schema() {
  return Json::parse(json_schema(describe<Recipe>(), catalogs().context().catalogs));
}

TEST(JsonSchema, DescribesPlainFields) {
  const Json schema = recipe_schema();
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#") << "as editors know it";
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_TRUE(schema["properties"].contains("extends"));
  const Json& train = schema["properties"]["train"]["properties"];
  EXPECT_EQ(train["grad_accum_steps"],
            Json::parse(R"({"type": ["integer", "string"], "minimum": 1.0, "default": 1,
      "pattern": "^[-+]?[0-9][0-9._]*([eE][-+]?[0-9]+)?$",
      "description": "Microbatches per step."})"));
  EXPECT_EQ(train["precision"]["enum"], Json::parse(R"(["fp32", "bf16"])"));
  EXPECT_EQ(train["grad_clip_norm"]["anyOf"][0]["exclusiveMinimum"], 0.0);
  EXPECT_EQ(train["grad_clip_norm"]["anyOf"][1], Json::parse(R"({"type": "null"})"));
  EXPECT_EQ(train["mean"]["minItems"], 3);
  EXPECT_EQ(train["mean"]["default"], Json::parse("[0.5, 0.5, 0.5]"));
  EXPECT_EQ(train["limits"]["additionalProperties"]["minimum"], 0.0);
  EXPECT_EQ(train["duration"]["default"], "90ep");
}

TEST(JsonSchema, OffersEveryComponent) {
  const Json schema = recipe_schema();
  const Json& optimizer = schema["properties"]["optimizer"];
  EXPECT_EQ(optimizer["then"]["enum"], Json::parse(R"(["adamw", "sgd"])"));
  const Json& section = optimizer["else"];
  EXPECT_EQ(section["properties"]["name"]["enum"], Json::parse(R"(["adamw", "sgd"])"));
  EXPECT_FALSE(section.contains("required"));
  ASSERT_EQ(section["allOf"].size(), 2u);
  const Json& adamw = section["allOf"][0];
  EXPECT_EQ(adamw["if"]["properties"]["name"]["const"], "adamw");
  EXPECT_EQ(adamw["if"]["required"], Json::parse(R"(["name"])"));
  EXPECT_EQ(adamw["then"]["additionalProperties"], false);
  EXPECT_EQ(adamw["then"]["properties"]["betas"]["items"]["exclusiveMaximum"], 1.0);
  EXPECT_EQ(adamw["then"]["properties"]["betas"]["minItems"], 1);
  EXPECT_FALSE(section["allOf"][1]["if"].contains("required")) << "sgd is the default";
  const Json& data = schema["properties"]["data"]["else"]["allOf"];
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data[2]["if"]["properties"]["name"]["const"], "folder");
  EXPECT_EQ(data[2]["then"]["required"], Json::parse(R"(["path"])"));
  EXPECT_TRUE(data[2]["then"]["properties"].contains("global_batch_size"));
  EXPECT_EQ(schema["properties"]["algorithms"]["properties"]["mixup"]["type"],
            Json::parse(R"(["object", "null"])"));
}

TEST(JsonSchema, WritesAKindThatHoldsItselfOnce) {
  TestCatalogs own;
  own.transforms.add<AroundOthersOptions>(nullptr);
  const Json schema = Json::parse(json_schema(describe<Recipe>(), own.context().catalogs));
  const Json reference = Json::parse(R"({"$ref": "#/definitions/transform"})");
  const Json& rules = schema["definitions"]["transform"]["else"]["allOf"];
  const auto around = std::find_if(rules.begin(), rules.end(), [](const Json& rule) {
    return rule["if"]["properties"]["name"]["const"] == "around_others";
  });
  ASSERT_NE(around, rules.end());
  const Json& transforms = (*around)["then"]["properties"]["transforms"];
  EXPECT_EQ(transforms["items"], reference);
  EXPECT_EQ(transforms["minItems"], 1);
  EXPECT_FALSE(recipe_schema().contains("definitions"));
}

}  // namespace
}  // namespace paceline::config::test
