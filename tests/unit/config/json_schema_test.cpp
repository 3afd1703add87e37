#include "paceline/config/json_schema.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::config::test {
namespace {

using Json = nlohmann::json;

Json recipe_schema() {
  return Json::parse(json_schema(describe<Recipe>(), catalogs().context().catalogs));
}

TEST(JsonSchema, DescribesPlainFields) {
  const Json schema = recipe_schema();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_TRUE(schema["properties"].contains("extends"));
  const Json& train = schema["properties"]["train"]["properties"];
  EXPECT_EQ(train["grad_accum_steps"],
            Json::parse(R"({"type": "integer", "minimum": 1.0, "default": 1,
      "description": "Microbatches per step."})"));
  EXPECT_EQ(train["precision"]["enum"], Json::parse(R"(["fp32", "bf16"])"));
  EXPECT_EQ(train["grad_clip_norm"]["anyOf"],
            Json::parse(R"([{"type": "number", "exclusiveMinimum": 0.0}, {"type": "null"}])"));
  EXPECT_EQ(train["mean"]["minItems"], 3);
  EXPECT_EQ(train["mean"]["default"], Json::parse("[0.5, 0.5, 0.5]"));
  EXPECT_EQ(train["limits"]["additionalProperties"],
            Json::parse(R"({"type": "integer", "minimum": 0.0})"));
  EXPECT_EQ(train["duration"]["default"], "90ep");
}

TEST(JsonSchema, OffersEveryComponent) {
  const Json schema = recipe_schema();
  const Json& optimizer = schema["properties"]["optimizer"]["anyOf"];
  ASSERT_EQ(optimizer.size(), 3u);
  EXPECT_EQ(optimizer[0]["properties"]["name"]["const"], "adamw");
  EXPECT_EQ(optimizer[0]["required"], Json::parse(R"(["name"])"));
  EXPECT_EQ(optimizer[0]["properties"]["betas"]["items"]["exclusiveMaximum"], 1.0);
  EXPECT_EQ(optimizer[0]["properties"]["betas"]["minItems"], 1);
  EXPECT_FALSE(optimizer[1].contains("required"));  // sgd is the default
  EXPECT_EQ(optimizer[2]["enum"], Json::parse(R"(["adamw", "sgd"])"));
  const Json& data = schema["properties"]["data"]["anyOf"];
  ASSERT_EQ(data.size(), 4u);
  EXPECT_EQ(data[2]["properties"]["name"]["const"], "folder");
  EXPECT_EQ(data[2]["required"], Json::parse(R"(["path"])"));
  EXPECT_TRUE(data[2]["properties"].contains("global_batch_size"));
  EXPECT_EQ(schema["properties"]["algorithms"]["properties"]["mixup"]["type"],
            Json::parse(R"(["object", "null"])"));
}

}  // namespace
}  // namespace paceline::config::test
