#include "paceline/app/model_report.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

class ModelReportTest : public ::testing::Test {
 protected:
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(ModelReportTest, TellsOfLayersShapesParametersAndOperations) {
  const ModelReport report = describe_model("resnet18", {"num_classes=10", "model.in_channels=1"},
                                            nn::ImageSize{64, 32}, *registries_);
  EXPECT_EQ(report.num_parameters, 11'175'370);  // torchvision's with these
  const LayerReport& first = report.layers.front();
  EXPECT_EQ(first.name, "conv1");
  EXPECT_EQ(first.type, "Conv2d");
  EXPECT_THAT(first.parameters, ElementsAre(Pair("weight", ElementsAre(64, 1, 7, 7))));
  EXPECT_THAT(first.output, ElementsAre(64, 32, 16));
  EXPECT_EQ(first.flops, 2.0 * 64 * 49 * 32 * 16);
  std::int64_t parameters = 0;
  double flops = 0;
  for (const LayerReport& layer : report.layers) {
    parameters += layer.num_parameters();
    flops += layer.flops;
  }
  EXPECT_EQ(parameters, report.num_parameters);
  EXPECT_EQ(flops, report.flops);
}

TEST_F(ModelReportTest, TablesColumnsAlignAndSumsStandLast) {
  const auto lines = model_table(describe_model("resnet18", {}, std::nullopt, *registries_));
  EXPECT_THAT(lines.front(), HasSubstr("MFLOPs"));
  EXPECT_EQ(lines[1].find("Conv2d"), lines.front().find("type"));
  EXPECT_THAT(lines.back(), AllOf(HasSubstr("11,689,512 parameters"), HasSubstr("3.628 GFLOPs"),
                                  HasSubstr("3x224x224")));
}

TEST_F(ModelReportTest, RefusesUnknownNamesKeysAndSizes) {
  const auto of = [&](const std::string& name, const std::vector<std::string>& options,
                      nn::ImageSize size) {
    return [&, name, options, size] { describe_model(name, options, size, *registries_); };
  };
  EXPECT_THAT(of("resnet81", {}, {32, 32}),
              ThrowsMessage<base::ConfigError>(HasSubstr("did you mean resnet18?")));
  EXPECT_THAT(of("resnet18", {"clases=3"}, {32, 32}),
              ThrowsMessage<base::ConfigError>(HasSubstr("model.clases")));
  EXPECT_THAT(of("convnext_tiny", {}, {16, 16}),
              ThrowsMessage<base::ConfigError>(HasSubstr("32x32")));
}

TEST_F(ModelReportTest, AllModelsAreToldWithTheirSums) {
  const auto models = nlohmann::json::parse(models_json(*registries_));
  EXPECT_EQ(models.size(), registries_->models.entries().size());
  const auto found = std::ranges::find_if(
      models, [](const auto& model) { return model["name"] == "efficientnet_b1"; });
  ASSERT_NE(found, models.end());
  EXPECT_EQ((*found)["parameters"], 7'794'184);
  EXPECT_EQ((*found)["image_size"], (std::vector{3, 240, 240}));
}

TEST_F(ModelReportTest, AllModelsAreToldWithTheWeightsThatAreKnown) {
  std::map<std::string, nlohmann::json> weights;
  for (const auto& model : nlohmann::json::parse(models_json(*registries_)))
    weights[model["name"].get<std::string>()] = model["weights"];
  EXPECT_EQ(weights["resnet50"], nlohmann::json::parse(R"([
    {"pretrained": "torchvision:resnet50/IMAGENET1K_V1", "top1": 76.13, "is_default": false},
    {"pretrained": "torchvision:resnet50/IMAGENET1K_V2", "top1": 80.858, "is_default": true}])"));
  EXPECT_EQ(weights["vit_base_patch16_224"], nlohmann::json::array());  // timm's name
}

}  // namespace
}  // namespace paceline::app
