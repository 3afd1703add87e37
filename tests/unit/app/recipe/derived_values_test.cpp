#include "paceline/app/recipe/derived_values.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Shown {
  config::DerivedValues derived;
  std::string yaml;
};

Shown show(const char* text) {
  const auto registries = make_registries();
  const config::Node written = config::parse_yaml(text, "r.yaml");
  const auto recipe = config::bind<Recipe>(written, {registries->catalogs(), 0});
  Shown shown{derived_values(recipe, written, *registries), ""};
  config::Node resolved = config::to_node(config::describe<Recipe>(), &recipe);
  comment_derived(shown.derived, /*knows_data=*/false, resolved);
  shown.yaml = config::to_yaml(resolved);
  const auto again =
      config::bind<Recipe>(config::parse_yaml(shown.yaml, "again"), {registries->catalogs(), 0});
  EXPECT_EQ(again.data.global_batch_size, recipe.data.global_batch_size);
  return shown;
}

TEST(DerivedValues, AreToldWithTheirSource) {
  const Shown shown = show("data: {name: cifar10, path: /data}\ntrain: {precision: auto}\n");
  EXPECT_EQ(shown.derived.at("model.num_classes"), "from the data");
  EXPECT_EQ(shown.derived.at("data.image_size"), "32, as usual for cifar10");
  EXPECT_EQ(shown.derived.at("data.train_transforms"),
            "weak: [{name: random_crop, padding: 4}, {name: random_horizontal_flip}, {name: "
            "normalize, mean: [0.4914, 0.4822, 0.4465], std: [0.247, 0.2435, 0.2616]}]");
  EXPECT_THAT(shown.derived.at("train.precision"), HasSubstr("auto: "));
  EXPECT_THAT(shown.yaml, AllOf(HasSubstr("name: resnet50  # num_classes comes from the data\n"),
                                HasSubstr("global_batch_size: null  # 256, as no batch size"),
                                HasSubstr("image_size: null  # 32"),
                                HasSubstr("train_transforms: []  # weak: [{name: random_crop"),
                                HasSubstr("monitor: null  # the task's first metric"),
                                Not(HasSubstr("num_classes: 1000"))));
}

TEST(DerivedValues, WhatComesWithWeightsIsSaidToDoSo) {
  const Shown unknown = show("model: {pretrained: 'hf:some/net'}\ndata: {path: /data}\n");
  EXPECT_THAT(unknown.yaml,
              AllOf(HasSubstr("crop: null  # as the weights of model.pretrained were published"),
                    HasSubstr("image_size: null  # 224, as usual for image_folder")));
  Shown known = show(
      "model: {pretrained: 'torchvision:DEFAULT'}\n"
      "data: {path: /data, preprocessing: {crop: 288, mean: [0.5, 0.5, 0.5]}}\n");
  EXPECT_EQ(known.derived.at("data.image_size"), "288, by data.preprocessing.crop");
  EXPECT_THAT(known.derived.at("data.train_transforms"), HasSubstr("mean: [0.5, 0.5, 0.5]"));
  EXPECT_FALSE(known.derived.contains("data.preprocessing.crop"));
  EXPECT_TRUE(known.derived.contains("data.preprocessing.std"));
}

TEST(DerivedValues, WhatIsWrittenIsNotDerived) {
  const Shown shown = show(
      "model: {num_classes: 7}\ntrain: {precision: bf16}\n"
      "data: {path: /data, image_size: 64, batch_size_per_rank: 8, num_threads: 1,\n"
      "  train_transforms: [normalize]}\n"
      "checkpoint: {monitor: val/top5, mode: max}\n");
  EXPECT_THAT(shown.derived, IsEmpty());
  EXPECT_THAT(shown.yaml, HasSubstr("num_classes: 7\n"));
}

}  // namespace
}  // namespace paceline::app
