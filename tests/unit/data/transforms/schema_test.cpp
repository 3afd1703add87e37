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
  EXPECT_THAT(
      registry.names(),
      ElementsAre("auto_augment", "center_crop", "color_jitter", "normalize", "rand_augment",
                  "random_affine", "random_crop", "random_erasing", "random_grayscale",
                  "random_horizontal_flip", "random_resized_crop", "random_rotation",
                  "random_vertical_flip", "resize", "trivial_augment_wide"));
}

TEST(TransformSchemas, BuildWhatTheRecipeSays) {
  TransformRegistry registry("transform");
  register_transforms(registry);
  const auto built =
      registry.build(config::Component::of("resize", ResizeConfig{99, Interpolation::kBicubic}));
  EXPECT_EQ(std::get<ResizeConfig>(*built).size, 99);
  EXPECT_EQ(std::get<ResizeConfig>(*built).interpolation, Interpolation::kBicubic);
}

template <class... Configs>
void check_defaults(const std::variant<Configs...>*) {
  (check_values(Configs{}), ...);
}

TEST(TransformSchemas, AllowDefaults) {
  EXPECT_NO_THROW(check_defaults(static_cast<const TransformConfig*>(nullptr)));
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
  EXPECT_THAT([] { check_values(RandAugmentConfig{.magnitude = 31}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("rand_augment.magnitude")));
  EXPECT_THAT(
      [] {
        check_values(AutoAugmentConfig{.fill = {0, 256, 0}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("auto_augment.fill")));
  EXPECT_THAT(
      [] {
        check_values(RandomAffineConfig{.degrees = {3, 2}, .shear_y = {0, 90}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_affine.shear_y")));
  EXPECT_THAT(
      [] {
        check_values(RandomErasingConfig{.ratio = {3, 2}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_erasing.ratio")));
  EXPECT_THAT(
      [] {
        check_values(RandomRotationConfig{.degrees = {3, 2}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_rotation.degrees")));
  EXPECT_THAT([] { check_values(CenterCropConfig{0}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("center_crop.size")));
}

}  // namespace
}  // namespace paceline::data
