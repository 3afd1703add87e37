#include "paceline/app/builtin.h"

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
