#include "paceline/data/transforms/transform_of_others.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/choice/random_apply.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_flip.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TransformOfOthers, TheSizeAfterAnyOrderHangsOnOneAtMost) {
  const TransformConfig flip = RandomHorizontalFlipConfig{};
  const TransformConfig crop = CenterCropConfig{.size = 20};
  const TransformConfig resize = ResizeConfig{.size = 30};
  EXPECT_EQ(size_after_any_order({flip, crop}, std::nullopt), (ImageSize{20, 20}));
  EXPECT_EQ(size_after_any_order({flip, flip}, ImageSize{7, 5}), (ImageSize{7, 5}));
  EXPECT_EQ(size_after_any_order({crop, resize}, std::nullopt), std::nullopt);
  EXPECT_EQ(size_after({resize, crop}, std::nullopt), (ImageSize{20, 20}));
}

TEST(TransformOfOthers, RefusesWhatBelongsElsewhere) {
  EXPECT_THAT([] { check_others("random_apply", {NormalizeConfig{}}); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("random_apply.transforms: normalize has its place at the end")));
  EXPECT_THAT([] { check_others("random_apply", {RandomFlipConfig{.fields = {"a"}}}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("random_flip.fields")));
  EXPECT_THAT(
      [] { check_others("random_apply", {RandomHorizontalFlipConfig{.alternating = true}}); },
      ThrowsMessage<base::ConfigError>(HasSubstr("write it among the transforms themselves")));
  EXPECT_NO_THROW(check_others("random_apply", {RandomHorizontalFlipConfig{}}));
}

TEST(TransformOfOthers, IsWrittenWithTheSettingsOfTheOthers) {
  const auto apply = make(RandomApplyConfig{.p = 0.25}, {CenterCropConfig{.size = 7}});
  EXPECT_EQ(config::to_flow_yaml(apply->written()),
            "{name: random_apply, transforms: [{name: center_crop, size: 7}], p: 0.25}");
}

}  // namespace
}  // namespace paceline::data
