#include "paceline/app/assembly/weight_preprocessing.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/data/transforms/named/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

struct WordsConfig {
  int length = 1;
};

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::WordsConfig> {
  using Config = paceline::app::WordsConfig;
  static constexpr std::string_view name = "words";
  static constexpr std::string_view summary = "No images.";
  static constexpr auto fields = std::tuple{field(&Config::length, "length", "Of each.")};
};

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::array<double, 3> kHalf = {0.5, 0.5, 0.5};

const Preprocessing kOfWeights{.mean = kHalf,
                               .std = kHalf,
                               .resize = 248,
                               .crop = 224,
                               .interpolation = data::Interpolation::kBicubic};

class WeightPreprocessing : public ::testing::Test {
 protected:
  Recipe recipe(const std::string& yaml) const {
    return config::bind<Recipe>(config::parse_yaml(yaml, "recipe.yaml"), registries_->context(1));
  }

  struct Taken {
    Preprocessing preprocessing;
    TakenPreprocessing told;
  };
  Taken take(const std::string& yaml) const {
    Recipe changed = recipe(yaml);
    TakenPreprocessing told = take_preprocessing(kOfWeights, *registries_, changed);
    return {changed.data.preprocessing, std::move(told)};
  }

  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(WeightPreprocessing, IsTakenWhereTheRecipeSaysNothing) {
  const Taken taken = take("data: image_folder");
  EXPECT_EQ(taken.preprocessing, kOfWeights);
  EXPECT_EQ(taken.told.taken,
            "resize 248, crop 224, interpolation bicubic, mean [0.5, 0.5, 0.5], std [0.5, 0.5, "
            "0.5]");
  EXPECT_THAT(taken.told.contradictions, IsEmpty());
}

TEST_F(WeightPreprocessing, WhatARecipeSaysIsKeptAndBothAreNamed) {
  const Taken of_mean = take("data: {preprocessing: {mean: [0.1, 0.2, 0.3]}}");
  EXPECT_EQ(of_mean.preprocessing.mean, (std::array{0.1, 0.2, 0.3}));
  EXPECT_EQ(of_mean.preprocessing.crop, 224);
  EXPECT_THAT(of_mean.told.contradictions,
              AllOf(HasSubstr("mean [0.1, 0.2, 0.3] here, [0.5, 0.5, 0.5] there"),
                    HasSubstr("mean in training [0.1, 0.2, 0.3] here"),
                    HasSubstr("by data.preprocessing;"), Not(HasSubstr("std"))));

  const Taken of_size = take("data: {image_size: 448}");
  EXPECT_EQ(of_size.preprocessing, kOfWeights);  // the resize is in proportion
  EXPECT_THAT(of_size.told.contradictions,
              AllOf(HasSubstr("resize to 496 here, 248 there"),
                    HasSubstr("crop of 448 here, 224 there"), HasSubstr("by data.image_size;")));
}

TEST_F(WeightPreprocessing, WrittenTransformsOfASplitDecideTheNormalisationOfBoth) {
  const Taken of_train = take(
      "data: {train_transforms: [{name: random_resized_crop, size: 224}, "
      "normalize]}");
  EXPECT_EQ(
      of_train.preprocessing,
      (Preprocessing{.resize = 248, .crop = 224, .interpolation = data::Interpolation::kBicubic}));
  EXPECT_THAT(of_train.told.contradictions,
              AllOf(HasSubstr("mean in training"), HasSubstr("; mean"),
                    HasSubstr("by data.train_transforms;")));
  const Taken of_eval =
      take("data: {eval_transforms: [{name: center_crop, size: 224}, normalize]}");
  EXPECT_EQ(of_eval.preprocessing, Preprocessing());
  EXPECT_THAT(of_eval.told.taken, IsEmpty());
  const Taken agreeing = take(
      "data: {eval_transforms: [{name: resize, size: 248, interpolation: bicubic}, {name: "
      "center_crop, size: 224}, {name: normalize, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}]}");
  EXPECT_EQ(agreeing.preprocessing, (Preprocessing{.mean = kHalf, .std = kHalf}));
  EXPECT_THAT(agreeing.told.contradictions, IsEmpty());
}

TEST_F(WeightPreprocessing, ANetworkOfOneSizeGetsImagesOfIt) {
  const Taken fixed = take("model: {name: vit, img_size: 112}");
  EXPECT_EQ(fixed.preprocessing.crop, 112);
  EXPECT_EQ(fixed.preprocessing.resize, 124);
  EXPECT_THAT(fixed.told.contradictions, HasSubstr("crop of 112 here, 224 there"));
  const Taken dynamic = take("model: {name: vit, img_size: 112, dynamic_img_size: true}");
  EXPECT_EQ(dynamic.preprocessing.crop, 224);
  const Taken of_two = take("model: {name: vit, img_size: [96, 112]}");
  EXPECT_EQ(of_two.preprocessing.crop, std::nullopt);
}

TEST_F(WeightPreprocessing, IsNothingToWhatIsNoImage) {
  registries_->datasets.add<WordsConfig>(
      [](const WordsConfig&) { return std::make_unique<data::DatasetPlan>(); });
  EXPECT_EQ(take("data: words").preprocessing, Preprocessing());
}

TEST_F(WeightPreprocessing, GoesByWhatACheckpointRecorded) {
  checkpoint::Manifest manifest;
  manifest.config = "data: {name: image_folder}\n";  // of an older version
  EXPECT_EQ(preprocessing_of(manifest, *registries_), Preprocessing());
  Recipe changed = recipe("data: image_folder");
  take_preprocessing(kOfWeights, *registries_, changed);
  manifest.config = config::to_yaml(config::to_node(config::describe<Recipe>(), &changed));
  EXPECT_EQ(preprocessing_of(manifest, *registries_), kOfWeights);
  EXPECT_EQ(parse_preprocessing(to_text(kOfWeights), "told", *registries_), kOfWeights);
}

TEST(WeightPreprocessingInWords, WhatNoRecipeCanSayIsLeftOut) {
  EXPECT_EQ(in_words_of_recipe({kHalf, kHalf, 224, 248, "bicubic"}), kOfWeights);
  const Preprocessing padded = in_words_of_recipe({kHalf, kHalf, 224, 200, "area"});
  EXPECT_EQ(padded, (Preprocessing{.mean = kHalf, .std = kHalf}));
}

TEST(WeightPreprocessingContradictions, AreOfThoseThatAreKnown) {
  EXPECT_EQ(contradictions(in_words_of_recipe({}), data::imagenet_eval(), data::imagenet_train()),
            "");
  EXPECT_EQ(contradictions({.mean = {{0.4851, 0.456, 0.406}}}, data::imagenet_eval(), {}), "");
  EXPECT_EQ(contradictions({}, data::imagenet_eval(), data::imagenet_train()), "");
  EXPECT_THAT(
      contradictions(kOfWeights, data::imagenet_eval(), data::imagenet_train()),
      AllOf(HasSubstr("; std [0.229, 0.224, 0.225] here, [0.5, 0.5, 0.5] there"),
            HasSubstr("resize to 256 here, 248 there"), Not(HasSubstr("crop of")),
            HasSubstr("interpolation bilinear here, bicubic there"), HasSubstr("std in training")));
}

}  // namespace
}  // namespace paceline::app
