#include "paceline/pretrained/preprocessing.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

std::optional<Preprocessing> preprocessing_in(const std::string& json) {
  const test::TempFolder folder;
  return preprocessing_in_config(folder.write("config.json", json));
}

TEST(PreprocessingOfWeights, IsTorchvisions) {
  const Preprocessing known =
      preprocessing_of(find_torchvision_weights({"efficientnet_v2_l", "IMAGENET1K_V1"}, ""));
  EXPECT_EQ(known, (Preprocessing{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, 480, 480, "bicubic"}));
}

// As of timm/vit_base_patch16_224.augreg_in21k_ft_in1k and timm/resnet50.a1_in1k.
TEST(PreprocessingOfWeights, IsThatOfTimmsConfig) {
  EXPECT_EQ(preprocessing_in(R"({"architecture": "vit", "pretrained_cfg": {
      "input_size": [3, 224, 224], "interpolation": "bicubic", "crop_pct": 0.9,
      "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}})"),
            (Preprocessing{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, 224, 248, "bicubic"}));
  EXPECT_EQ(preprocessing_in(R"({"pretrained_cfg": {"input_size": [3, 288, 288]}})"),
            (Preprocessing{.crop = 288, .resize = 329, .interpolation = "bicubic"}));
  EXPECT_EQ(preprocessing_in(R"({"model_type": "resnet"})"), std::nullopt);
  EXPECT_EQ(preprocessing_in("[]"), std::nullopt);
}

TEST(PreprocessingOfWeights, DamagedConfigsNameTheFile) {
  for (const char* json :
       {"{", R"({"pretrained_cfg": {"mean": [1]}})", R"({"pretrained_cfg": {"crop_pct": "x"}})",
        R"({"pretrained_cfg": {"crop_pct": 0}})", R"({"pretrained_cfg": {"std": [1, 0, 1]}})"})
    EXPECT_THAT([&] { preprocessing_in(json); },
                testing::ThrowsMessage<base::DataError>(testing::HasSubstr("config.json")))
        << json;
}

}  // namespace
}  // namespace paceline::pretrained
