#include "paceline/data/transforms/transform.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/color/color_jitter.h"
#include "paceline/data/transforms/named/color/random_grayscale.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_affine.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/random_rotation.h"
#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/policies/auto_augment.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <class... Configs>
void check_defaults() {
  (TransformConfig(Configs{})->check(), ...);
}

TEST(Transform, AllowsDefaults) {
  EXPECT_NO_THROW(
      (check_defaults<RandomResizedCropConfig, RandomCropConfig, RandomHorizontalFlipConfig,
                      RandomVerticalFlipConfig, RandomGrayscaleConfig, ColorJitterConfig,
                      RandomRotationConfig, RandomAffineConfig, RandAugmentConfig,
                      TrivialAugmentWideConfig, AutoAugmentConfig, ResizeConfig, CenterCropConfig,
                      NormalizeConfig, RandomErasingConfig>()));
}

TEST(Transform, NamesEveryValueOutOfRange) {
  EXPECT_THAT([] { TransformConfig(ColorJitterConfig{.brightness = -1, .hue = 0.6})->check(); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("color_jitter.brightness"), HasSubstr("color_jitter.hue"))));
  EXPECT_THAT(
      [] {
        TransformConfig(NormalizeConfig{.std = {1, 0, 1}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("normalize.std")));
  EXPECT_THAT(
      [] {
        TransformConfig(RandomResizedCropConfig{.scale = {1.0, 0.5}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_resized_crop.scale")));
  EXPECT_THAT([] { TransformConfig(RandAugmentConfig{.magnitude = 31})->check(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("rand_augment.magnitude")));
  EXPECT_THAT(
      [] {
        TransformConfig(AutoAugmentConfig{.fill = {0, 256, 0}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("auto_augment.fill")));
  EXPECT_THAT(
      [] {
        TransformConfig(RandomAffineConfig{.degrees = {3, 2}, .shear_y = {0, 90}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_affine.shear_y")));
  EXPECT_THAT(
      [] {
        TransformConfig(RandomErasingConfig{.ratio = {3, 2}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_erasing.ratio")));
  EXPECT_THAT(
      [] {
        TransformConfig(RandomRotationConfig{.degrees = {3, 2}})->check();
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_rotation.degrees")));
  EXPECT_THAT([] { TransformConfig(CenterCropConfig{0})->check(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("center_crop.size")));
}

TEST(Transform, KeepsItsSettings) {
  const TransformConfig resize = ResizeConfig{.size = 99, .interpolation = Interpolation::kBicubic};
  EXPECT_EQ(resize->name(), "resize");
  EXPECT_EQ(resize.get_if<ResizeConfig>()->size, 99);
  EXPECT_EQ(resize.get_if<ResizeConfig>()->interpolation, Interpolation::kBicubic);
  EXPECT_EQ(resize.get_if<CenterCropConfig>(), nullptr);
  const TransformConfig same(make(ResizeConfig{.size = 7}));
  EXPECT_EQ(same.get_if<ResizeConfig>()->size, 7);
}

TEST(Transform, FixesTheSizeOrKeepsIt) {
  const auto size_after = [](const TransformConfig& transform, std::optional<ImageSize> before) {
    return transform->fixed_size(before);
  };
  EXPECT_EQ(size_after(CenterCropConfig{8}, std::nullopt), (ImageSize{8, 8}));
  EXPECT_EQ(size_after(ResizeConfig{8}, std::nullopt), std::nullopt);
  EXPECT_EQ(size_after(ResizeConfig{8}, ImageSize{20, 10}), (ImageSize{16, 8}));
  EXPECT_EQ(size_after(RandomHorizontalFlipConfig{}, ImageSize{20, 10}), (ImageSize{20, 10}));
}

TEST(Transform, IsWrittenAsARecipeHasIt) {
  EXPECT_EQ(config::to_flow_yaml(TransformConfig(RandomGrayscaleConfig{})->written()),
            "{name: random_grayscale}");
  EXPECT_EQ(config::to_flow_yaml(
                TransformConfig(RandomCropConfig{.size = {3, 4}, .padding = 1})->written()),
            "{name: random_crop, size: [3, 4], padding: 1}");
}

}  // namespace
}  // namespace paceline::data
