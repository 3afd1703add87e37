#include "paceline/data/transforms/schema.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TransformSchemas, RegisterEveryTransform) {
  TransformRegistry registry("transform");
  register_transforms(registry);
  EXPECT_THAT(registry.names(),
              ElementsAre("center_crop", "color_jitter", "normalize", "random_crop",
                          "random_horizontal_flip", "random_resized_crop", "resize"));
}

TEST(TransformSchemas, BuildWhatTheRecipeSays) {
  TransformRegistry registry("transform");
  register_transforms(registry);
  const auto built =
      registry.build(config::Component::of("resize", ResizeConfig{99, Interpolation::kBicubic}));
  EXPECT_EQ(std::get<ResizeConfig>(*built).size, 99);
  EXPECT_EQ(std::get<ResizeConfig>(*built).interpolation, Interpolation::kBicubic);
}

TEST(TransformSchemas, AllowDefaults) {
  for (const TransformConfig& transform :
       {TransformConfig(RandomResizedCropConfig{}), TransformConfig(RandomCropConfig{}),
        TransformConfig(RandomHorizontalFlipConfig{}), TransformConfig(ColorJitterConfig{}),
        TransformConfig(ResizeConfig{}), TransformConfig(CenterCropConfig{}),
        TransformConfig(NormalizeConfig{})}) {
    EXPECT_NO_THROW(check_values(transform));
  }
}

TEST(TransformSchemas, NameEveryValueOutOfRange) {
  EXPECT_THAT([] { check_values(ColorJitterConfig{.brightness = -1, .hue = 0.6}); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("color_jitter.brightness"), HasSubstr("color_jitter.hue"))));
  EXPECT_THAT(
      [] {
        check_values(NormalizeConfig{.std = {1, 0, 1}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("normalize.std")));
  EXPECT_THAT(
      [] {
        check_values(RandomResizedCropConfig{.scale = {1.0, 0.5}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_resized_crop.scale")));
  EXPECT_THAT([] { check_values(CenterCropConfig{0}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("center_crop.size")));
}

}  // namespace
}  // namespace paceline::data
