#include "paceline/app/recipe/preprocessing.h"

#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/data/transforms/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::array<double, 3> kHalf = {0.5, 0.5, 0.5};

TEST(Preprocessing, ReplacesNormalisationResizeAndFilterOfEvaluations) {
  const auto transforms =
      prepared(data::imagenet_eval(256, 224), {.mean = kHalf,
                                               .std = kHalf,
                                               .resize = 232,
                                               .crop = 224,
                                               .interpolation = data::Interpolation::kBicubic});
  ASSERT_EQ(transforms.size(), 3);
  const auto* resize = transforms[0].get_if<data::ResizeConfig>();
  EXPECT_EQ(resize->size, config::Sides(232));
  EXPECT_EQ(resize->interpolation, data::Interpolation::kBicubic);
  EXPECT_EQ(transforms[1].get_if<data::CenterCropConfig>()->size, config::Sides(224));
  EXPECT_EQ(transforms[2].get_if<data::NormalizeConfig>()->mean, kHalf);
  EXPECT_EQ(transforms[2].get_if<data::NormalizeConfig>()->std, kHalf);
}

TEST(Preprocessing, ResizesInProportionToTheCrop) {
  const Preprocessing by{.resize = 232, .crop = 224};
  const auto of = [&](const config::Sides& crop) {
    return prepared(data::imagenet_eval(1, crop), by)[0].get_if<data::ResizeConfig>()->size;
  };
  EXPECT_EQ(of(448), config::Sides(464));
  EXPECT_EQ(of(config::Sides(112, 224)), config::Sides(116, 232));
}

TEST(Preprocessing, LeavesAllElseAsItIs) {
  const auto written = [](const std::vector<data::TransformConfig>& transforms) {
    config::Node list = config::Node::list();
    for (const auto& transform : transforms) list.items.push_back(transform->written());
    return config::to_flow_yaml(list);
  };
  const auto usual = data::imagenet_train(224, data::Augmentation::kStrong);
  EXPECT_EQ(written(prepared(usual, {})), written(usual));
  EXPECT_EQ(written(prepared(data::imagenet_eval(), {})), written(data::imagenet_eval()));
  EXPECT_EQ(written(prepared(usual, {.resize = 232, .crop = 200})), written(usual));
}

TEST(Preprocessing, OnlyWhatIsOpenIsFilled) {
  Preprocessing own{.mean = kHalf, .crop = 288};
  fill_open({.mean = {{1, 1, 1}}, .std = kHalf, .resize = 256, .crop = 224}, own);
  EXPECT_EQ(own, (Preprocessing{.mean = kHalf, .std = kHalf, .crop = 288}));
  EXPECT_EQ(describe(own), "crop 288, mean [0.5, 0.5, 0.5], std [0.5, 0.5, 0.5]");
  EXPECT_EQ(describe(Preprocessing()), "");
}

TEST(Preprocessing, RefusesWhatMakesNoImage) {
  const auto bind = [](const char* yaml) {
    return [yaml] { config::bind<Preprocessing>(config::parse_yaml(yaml, "r.yaml"), {{}, 0}); };
  };
  EXPECT_THAT(bind("{resize: 256}"), ThrowsMessage<base::ConfigError>(HasSubstr("crop")));
  EXPECT_THAT(bind("{resize: 200, crop: 224}"),
              ThrowsMessage<base::ConfigError>(HasSubstr("no room for a crop of 224")));
  EXPECT_THAT(bind("{std: [1, 0, 1]}"), ThrowsMessage<base::ConfigError>(HasSubstr("std")));
}

}  // namespace
}  // namespace paceline::app
