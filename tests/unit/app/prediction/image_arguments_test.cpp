#include "paceline/app/prediction/image_arguments.h"

#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ImageArguments, OverridesChangeSectionsOfTheRecipe) {
  const paceline::test::TempFolder folder;
  const std::string there = folder.write("data.path=x.jpg", "").string();
  const std::vector<std::string> words{
      "a.jpg", "data.path=/b.jpg", "+algorithms.ema", "~loggers",    "photos",
      there,   "x=1.png",          "modle.name=vit",  "~user/a.jpg", "*.jpg"};
  const ImageArguments told = tell_images_from_overrides(words);
  EXPECT_THAT(told.overrides,
              ElementsAre("data.path=/b.jpg", "+algorithms.ema", "~loggers", "modle.name=vit"));
  EXPECT_THAT(told.images,
              ElementsAre("a.jpg", "photos", there, "x=1.png", "~user/a.jpg", "*.jpg"));
  EXPECT_THAT(tell_images_from_overrides({}).images, IsEmpty());
}

}  // namespace
}  // namespace paceline::app
