#include "paceline/data/transforms/named/geometry/resize.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

TEST(Resize, RoundsTheLongerSideDown) {
  EXPECT_EQ(std::get<ResizeStep>(plan_of(ResizeConfig{.size = 256}, {375, 500}, 0)[0]).size,
            (ImageSize{256, 341}));
  EXPECT_EQ(std::get<ResizeStep>(plan_of(ResizeConfig{.size = 256}, {500, 375}, 0)[0]).size,
            (ImageSize{341, 256}));
}

TEST(Resize, ToBothSidesWhateverTheRatioIs) {
  const ResizeConfig config{.size = {96, 128}};
  EXPECT_EQ(std::get<ResizeStep>(plan_of(config, {500, 375}, 0)[0]).size, (ImageSize{96, 128}));
  EXPECT_EQ(TransformConfig(config)->fixed_size({}), (ImageSize{96, 128}));
  EXPECT_FALSE(TransformConfig(ResizeConfig{.size = 96})->fixed_size({}));
}

TEST(Resize, KnowsItsSizeFromTheSizeBefore) {
  const TransformConfig resize(ResizeConfig{.size = 96});
  EXPECT_EQ(resize->fixed_size(ImageSize{100, 200}), (ImageSize{96, 192}));
  EXPECT_EQ(resize->fixed_size(ImageSize{200, 100}), (ImageSize{192, 96}));
}

TEST(Resize, RefusesAnImageThatIsTooNarrow) {
  EXPECT_EQ(TransformConfig(ResizeConfig{1 << 10})->fixed_size(ImageSize{1 << 20, 1}),
            (ImageSize{1 << 30, 1 << 10}))
      << "the longest";
  Plan plan;
  base::Philox draws(0, base::DrawPurpose::kAugmentation, 0, 0);
  EXPECT_THAT(
      [&] {
        draw_steps(ResizeConfig{100'000}, {1'000'000, 1}, draws, plan);
      },
      ::testing::ThrowsMessage<base::DataError>(
          ::testing::HasSubstr("1 x 1000000 pixels 100000000000 long")));
}

}  // namespace
}  // namespace paceline::data
