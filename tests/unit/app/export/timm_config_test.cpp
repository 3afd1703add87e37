#include "paceline/app/export/timm_config.h"

#include "paceline/app/export/model_card.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TimmConfigTest : public ::testing::Test {
 protected:
  Recipe recipe(const std::string& model, const std::string& data = "image_folder") const {
    return config::bind<Recipe>(
        config::parse_yaml(fmt::format("model: {}\ndata: {}\n", model, data), "recipe.yaml"),
        registries_->context(1));
  }
  TimmConfig of(const std::string& model, const std::string& data = "image_folder") const {
    return timm_config(recipe(model, data), manifest_, *registries_);
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  checkpoint::Manifest manifest_ = manifest();

 private:
  static checkpoint::Manifest manifest() {
    checkpoint::Manifest manifest;
    manifest.step = 30;
    manifest.monitored = checkpoint::Monitored{"val/top1", 0.75};
    manifest.class_names = {"cat", "dog"};
    checkpoint::TensorRecord& record = manifest.tensors.emplace_back();
    record.name = "fc.weight";
    record.dtype = "F32";
    record.shape = {2, 512};
    manifest.config = "model: resnet18\n";
    return manifest;
  }
};

TEST_F(TimmConfigTest, TellsHowImagesArePrepared) {
  const TimmConfig config = of("{name: resnet18, num_classes: 2}");
  EXPECT_THAT(config.problem, IsEmpty());
  EXPECT_EQ(config.json["architecture"], "resnet18");
  EXPECT_EQ(config.json["num_classes"], 2);
  EXPECT_EQ(config.json["num_features"], 512);
  EXPECT_EQ(config.json["label_names"], (std::vector<std::string>{"cat", "dog"}));
  const auto& images = config.json["pretrained_cfg"];
  EXPECT_EQ(images["input_size"], (std::vector<int>{3, 224, 224}));
  EXPECT_EQ(images["crop_pct"], 0.875);
  EXPECT_EQ(images["interpolation"], "bilinear");
  EXPECT_EQ(images["mean"], (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(images["std"], (std::vector<double>{0.229, 0.224, 0.225}));
  EXPECT_EQ(images["classifier"], "fc");
}

TEST_F(TimmConfigTest, TellsWhatTheRunTookOfItsWeights) {
  const auto images = of("resnet18",
                         "{preprocessing: {mean: [0.5, 0.5, 0.5], resize: 256, crop: 240, "
                         "interpolation: bicubic}}")
                          .json["pretrained_cfg"];
  EXPECT_EQ(images["input_size"], (std::vector<int>{3, 240, 240}));
  EXPECT_EQ(images["crop_pct"], 240.0 / 256);
  EXPECT_EQ(images["interpolation"], "bicubic");
  EXPECT_EQ(images["mean"], (std::vector<double>{0.5, 0.5, 0.5}));
}

TEST_F(TimmConfigTest, SettingsThatTimmTakesAreItsArguments) {
  EXPECT_EQ(of("{name: vit_tiny_patch16_224, img_size: 32}").json["model_args"],
            (nlohmann::json{{"img_size", 32}}));
  EXPECT_EQ(of("{name: resnet18, in_channels: 1, drop_rate: 0.1}").json["model_args"],
            (nlohmann::json{{"in_chans", 1}}));
  EXPECT_EQ(of("{name: resnet18, in_channels: 1}").json["pretrained_cfg"]["input_size"][0], 1);
  EXPECT_FALSE(of("resnet18").json.contains("model_args"));
}

TEST_F(TimmConfigTest, WhatTimmHasNotIsTold) {
  EXPECT_THAT(of("{name: resnet18, stem: small}").problem, HasSubstr("no model.stem"));
  EXPECT_THAT(of("resnet9").problem, HasSubstr("timm has no resnet9"));
  EXPECT_THAT(of("efficientnet_b0").problem, HasSubstr("timm has no efficientnet_b0"));
  EXPECT_THAT(of("vit").problem, HasSubstr("timm has no vit"));
  manifest_.surgery = checkpoint::SurgeryRecord{{"blurpool", "{}", {}}};
  EXPECT_THAT(of("resnet18").problem, HasSubstr("changed by blurpool"));
}

TEST_F(TimmConfigTest, TheCardIsMadeOfTheRunsFacts) {
  const Recipe plain = recipe("resnet18");
  const std::string card =
      model_card(plain, manifest_, timm_config(plain, manifest_, *registries_), "ema");
  EXPECT_THAT(card, AllOf(HasSubstr("library_name: timm"), HasSubstr("optimizer steps: 30"),
                          HasSubstr("val/top1: 0.7500"), HasSubstr("those of ema"),
                          HasSubstr("2 classes: cat, dog"), HasSubstr("model: resnet18\n```")));
  const Recipe small = recipe("{name: resnet18, stem: small}");
  EXPECT_THAT(model_card(small, manifest_, timm_config(small, manifest_, *registries_), ""),
              AllOf(HasSubstr("library_name: paceline"), HasSubstr("no model.stem")));
}

}  // namespace
}  // namespace paceline::app
