#include "paceline/app/export/exported_model.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class ExportedModelTest : public ::testing::Test {
 protected:
  Recipe bound(const config::Node& node) const {
    return config::bind<Recipe>(node, registries_->context(1));
  }
  Recipe recipe(const std::string& text) const {
    return bound(config::parse_yaml(text, "recipe.yaml"));
  }
  ExportedModel read(const std::string& config) const {
    folder_.write("config.json", config);
    return read_exported_model(folder_.path() / "model.safetensors", *registries_);
  }
  ExportedModel read_back(const Recipe& exported) const {
    checkpoint::Manifest manifest;
    manifest.step = 30;
    const nlohmann::json config{
        {"architecture", exported.model.network.name},
        {"label_names", {"cat", "dog"}},
        {"paceline", describe_for_export(exported, manifest, *registries_)}};
    return read(config.dump());
  }
  static config::Node model_of(const Recipe& recipe) {
    return config::options_of(recipe.model.network);
  }

  paceline::test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(ExportedModelTest, OfOursIsTheSameNetworkWithTheSameImages) {
  const Recipe trained = recipe(
      "model: {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 2, num_heads: 2,\n"
      "        num_classes: 2, pretrained: elsewhere.safetensors, freeze: [blocks.0]}\n"
      "loss: binary_cross_entropy\n"
      "data: {image_size: [16, 24], exif: apply, preprocessing: {mean: [0.1, 0.2, 0.3]}}\n");
  const ExportedModel exported = read_back(trained);
  EXPECT_EQ(exported.step, 30);
  EXPECT_THAT(exported.class_names, ElementsAre("cat", "dog"));
  const Recipe rebuilt = bound(exported.recipe);
  EXPECT_EQ(rebuilt.model.network.name, "vit");
  EXPECT_TRUE(config::same_value(model_of(rebuilt), model_of(trained)));
  EXPECT_EQ(rebuilt.loss.name, "binary_cross_entropy");
  EXPECT_EQ(rebuilt.data.exif, data::ExifRule::kApply);
  EXPECT_FALSE(rebuilt.model.pretrained);
  EXPECT_THAT(rebuilt.model.freeze, IsEmpty());
  const auto images = transforms_of(rebuilt.data, *registries_, data::Split::kVal);
  const auto wanted = transforms_of(trained.data, *registries_, data::Split::kVal);
  ASSERT_EQ(images.size(), wanted.size());
  for (std::size_t i = 0; i < images.size(); ++i)
    EXPECT_TRUE(config::same_value(images[i]->written(), wanted[i]->written())) << i;
}

TEST_F(ExportedModelTest, OfTimmIsReadByItsWords) {
  const ExportedModel exported = read(
      R"({"architecture": "vit_tiny_patch16_224", "num_classes": 3,
          "model_args": {"img_size": 64, "in_chans": 1},
          "pretrained_cfg": {"input_size": [1, 64, 64], "crop_pct": 0.8, "mean": [0.5, 0.5, 0.5],
                             "std": [0.25, 0.25, 0.25], "interpolation": "bicubic"}})");
  const Recipe rebuilt = bound(exported.recipe);
  EXPECT_EQ(rebuilt.model.network.name, "vit_tiny_patch16_224");
  const config::Node model = model_of(rebuilt);
  EXPECT_EQ(model.find("num_classes")->text, "3");
  EXPECT_EQ(model.find("img_size")->text, "64");
  EXPECT_EQ(model.find("in_channels")->text, "1");
  const Preprocessing& images = rebuilt.data.preprocessing;
  EXPECT_EQ(images.crop, 64);
  EXPECT_EQ(images.resize, 80);
  EXPECT_EQ(images.interpolation, data::Interpolation::kBicubic);
  EXPECT_EQ(images.mean, (std::array{0.5, 0.5, 0.5}));
  EXPECT_THAT(exported.class_names, IsEmpty());
  EXPECT_EQ(exported.step, 0);
}

TEST_F(ExportedModelTest, WhatIsNoConfigOfTimmsIsNamed) {
  const auto reading = [&](const std::string& config) { return [=, this] { read(config); }; };
  EXPECT_THAT(reading("{"), ThrowsMessage<base::DataError>(HasSubstr("config.json: ")));
  EXPECT_THAT(reading("[]"),
              ThrowsMessage<base::ConfigError>(HasSubstr("its architecture is not told")));
  EXPECT_THAT(reading(R"({"architectures": ["ResNetForImageClassification"]})"),
              ThrowsMessage<base::ConfigError>(HasSubstr("its architecture is not told")));
  EXPECT_THAT(reading(R"({"architecture": "resnet5O"})"),
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("'resnet5O'"), HasSubstr("such as resnet50"))));
  EXPECT_THAT(reading(R"({"architecture": 50})"),
              ThrowsMessage<base::DataError>(HasSubstr("config.json: is not as timm")));
}

TEST_F(ExportedModelTest, IsAFolderOrTheWeightsInIt) {
  const fs::path weights = folder_.write("model.safetensors", "x");
  EXPECT_FALSE(find_exported_weights(weights)) << "which model they are of is not told";
  folder_.write("config.json", "{}");
  EXPECT_EQ(find_exported_weights(weights), weights);
  EXPECT_EQ(find_exported_weights(folder_.path()), weights);
  EXPECT_FALSE(find_exported_weights(folder_.path() / "absent.safetensors"));
  folder_.write("run/config.yaml", "");
  EXPECT_FALSE(find_exported_weights(folder_.path() / "run"));
}

}  // namespace
}  // namespace paceline::app
