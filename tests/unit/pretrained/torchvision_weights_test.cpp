#include "paceline/pretrained/torchvision_weights.h"

#include "paceline/base/error.h"
#include "paceline/pretrained/torch_hub.h"

#include <cstdlib>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TorchvisionWeights, AreFoundByNameOrAsTheBest) {
  const auto& second = find_torchvision_weights({"", "IMAGENET1K_V2"}, "resnet50");
  EXPECT_EQ(second.file, "resnet50-11ad3fa6.pth");
  EXPECT_EQ(second.top1, 80.858);
  EXPECT_EQ(second.resize, 232);
  EXPECT_EQ(second.crop, 224);
  EXPECT_EQ(&find_torchvision_weights({"", "DEFAULT"}, "resnet50"), &second);
  EXPECT_EQ(&find_torchvision_weights({"resnet50", "IMAGENET1K_V2"}, "my_model"), &second);
  EXPECT_EQ(url_of(second), "https://download.pytorch.org/models/resnet50-11ad3fa6.pth");
  EXPECT_EQ(describe(second), "torchvision:resnet50/IMAGENET1K_V2");
}

TEST(TorchvisionWeights, AreOneDefaultAModelAndHaveAHash) {
  std::map<std::string_view, int> defaults;
  for (const TorchvisionWeights& weights : torchvision_weights()) {
    defaults[weights.model] += weights.is_default ? 1 : 0;
    EXPECT_NE(hash_in_name(std::string(weights.file)), "") << weights.file;
    EXPECT_GT(weights.top1, 50) << weights.file;
    EXPECT_GE(weights.resize, weights.crop) << weights.file;
  }
  for (const auto& [model, count] : defaults) EXPECT_EQ(count, 1) << model;
}

TEST(TorchvisionWeights, WrongNamesAreToldWhatThereIs) {
  EXPECT_THAT(
      [] {
        find_torchvision_weights({"", "IMAGENET1K_V3"}, "resnet50");
      },
      ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("no weights 'IMAGENET1K_V3' of resnet50"),
                                             HasSubstr("it has IMAGENET1K_V1, IMAGENET1K_V2"))));
  EXPECT_THAT(
      [] {
        find_torchvision_weights({"", "DEFAULT"}, "vit_base_patch16_224");
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("name its model where it calls it")));
  EXPECT_THAT(
      [] {
        find_torchvision_weights({"resnet5O", "DEFAULT"}, "x");
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("did you mean 'resnet50'?")));
}

TEST(TorchvisionWeights, MayComeFromAMirror) {
  setenv("PACELINE_TORCHVISION_URL", "http://mirror/models/", 1);
  EXPECT_EQ(url_of(torchvision_weights().front()),
            "http://mirror/models/" + std::string(torchvision_weights().front().file));
  unsetenv("PACELINE_TORCHVISION_URL");
}

}  // namespace
}  // namespace paceline::pretrained
