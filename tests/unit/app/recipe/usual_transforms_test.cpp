#include "paceline/app/recipe/usual_transforms.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

data::DatasetPlan photos() {
  const data::UsualTransforms usual = data::photo_transforms();
  data::DatasetPlan plan;
  plan.default_image_size = usual.default_image_size;
  plan.train_transforms = usual.train;
  plan.eval_transforms = usual.eval;
  return plan;
}

TEST(UsualTransforms, TheRecipesSizeComesBeforeThatOfPreprocessingAndTheDatas) {
  const data::DatasetPlan plan = photos();
  DataSection section;
  EXPECT_EQ(image_size_of(section, plan), config::Sides(224));
  section.preprocessing.crop = 288;
  EXPECT_EQ(image_size_of(section, plan), config::Sides(288));
  section.image_size = 160;
  EXPECT_EQ(image_size_of(section, plan), config::Sides(160));
}

TEST(UsualTransforms, BothSplitsAreNormalisedAndSizedAlike) {
  DataSection section;
  section.preprocessing = {.mean = {{0.5, 0.5, 0.5}}, .resize = 300, .crop = 288};
  const auto train = usual_transforms(section, photos(), data::Split::kTrain);
  const auto eval = usual_transforms(section, photos(), data::Split::kVal);
  EXPECT_EQ(train.front().get_if<data::RandomResizedCropConfig>()->size, config::Sides(288));
  EXPECT_EQ(eval[1].get_if<data::CenterCropConfig>()->size, config::Sides(288));
  for (const auto* transforms : {&train, &eval})
    EXPECT_EQ(transforms->back().get_if<data::NormalizeConfig>()->mean, section.preprocessing.mean);
}

}  // namespace
}  // namespace paceline::app
