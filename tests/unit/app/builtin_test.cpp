#include "paceline/app/builtin.h"

#include "paceline/app/recipe.h"
#include "paceline/config/bind.h"
#include "paceline/data/transforms/pipeline.h"

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(Builtin, EveryComponentHasASummaryAndBindsFromItsDefaults) {
  const auto registries = make_registries();
  for (const auto& [kind, catalog] : registries->catalogs()) {
    for (const auto& [name, entry] : catalog->entries()) {
      EXPECT_FALSE(entry.summary.empty()) << kind << " " << name;
      EXPECT_NE(entry.info, nullptr) << kind << " " << name;
      EXPECT_NE(entry.make(), nullptr) << kind << " " << name;
    }
  }
}

TEST(Builtin, CatalogsHoldEveryKindThatRecipesName) {
  const auto registries = make_registries();
  const config::Catalogs catalogs = registries->catalogs();
  for (const char* kind : {"model", "dataset", "transform", "optimizer", "schedule", "loss",
                           "algorithms", "callbacks", "loggers"}) {
    EXPECT_TRUE(catalogs.contains(kind)) << kind;
  }
}

TEST(Builtin, EverySmallModelAndScheduleBuilds) {
  const auto registries = make_registries();
  const config::BindContext context{registries->catalogs(), 1};
  for (const char* model : {"resnet18", "vit_tiny_patch16_224"}) {
    config::Node node = config::Node::map();
    node.set("model", config::Node::map()).set("name", config::Node::scalar(model));
    const auto recipe = config::bind<Recipe>(node, context);
    EXPECT_NE(registries->models.build(recipe.model.network), nullptr) << model;
  }
  for (const std::string& name : registries->schedules.names()) {
    config::Node node = config::Node::map();
    node.set("schedule", config::Node::map()).set("name", config::Node::scalar(name));
    const auto recipe = config::bind<Recipe>(node, context);
    const auto schedule = registries->schedules.build(recipe.schedule, {1000, 10, 32});
    EXPECT_GE(schedule->factor(500), 0.0) << name;
  }
}

TEST(Builtin, CifarIsScaledWhenAnotherSizeIsAskedFor) {
  const auto registries = make_registries();
  const auto plan =
      registries->datasets.build(config::Component::of("cifar10", data::Cifar10Config{}));
  EXPECT_EQ(plan->default_image_size, 32);
  for (const int size : {32, 224}) {
    const data::ImageSize wanted{size, size};
    EXPECT_EQ(data::TransformPipeline(plan->train_transforms(size)).output_size(), wanted);
    EXPECT_EQ(data::TransformPipeline(plan->eval_transforms(size)).output_size(), wanted);
  }
}

}  // namespace
}  // namespace paceline::app
