#include "paceline/app/assembly/weight_preprocessing.h"

#include "paceline/data/transforms/named/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(WeightPreprocessing, ThatAgreesIsNotWorthAWord) {
  EXPECT_EQ(contradictions({}, data::imagenet_eval()), "");
  EXPECT_EQ(contradictions({.mean = {0.4851, 0.456, 0.406}}, data::imagenet_eval()), "");
}

TEST(WeightPreprocessing, ThatDiffersIsNamedOnBothSidesWithTheCure) {
  const pretrained::Preprocessing of_weights{
      {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}, 224, 248, "bicubic"};
  EXPECT_THAT(
      contradictions(of_weights, data::imagenet_eval()),
      AllOf(HasSubstr("mean [0.485, 0.456, 0.406] here, [0.5, 0.5, 0.5] there"),
            HasSubstr("std [0.229, 0.224, 0.225] here, [0.25, 0.25, 0.25] there"),
            HasSubstr("resize to 256 here, 248 there"),
            HasSubstr("interpolation bilinear here, bicubic there"), Not(HasSubstr("crop of")),
            HasSubstr("data.eval_transforms='[{resize: {size: 248, interpolation: bicubic}}, "
                      "{center_crop: {size: 224}}, {normalize: {mean: [0.5, 0.5, 0.5], std: "
                      "[0.25, 0.25, 0.25]}}]'")));
  EXPECT_THAT(contradictions({.crop = 288}, data::imagenet_eval()),
              HasSubstr("crop of 224 here, 288 there"));
}

}  // namespace
}  // namespace paceline::app
