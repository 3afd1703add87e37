#include "paceline/app/recipe/builtin.h"

#include "paceline/app/recipe/recipe.h"
#include "paceline/base/error.h"
#include "paceline/config/parse.h"
#include "paceline/config/schema.h"
#include "paceline/data/sources/cifar.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/pipeline.h"

#include <gmock/gmock.h>
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

/// Full names of the numbers below a section that nothing bounds on both sides.
void find_unbounded(const config::StructInfo& info, const std::string& path,
                    std::vector<std::string>& names) {
  using config::RuleKind;
  for (const config::FieldInfo& field : info.fields) {
    const config::TypeInfo* type = field.type.get();
    while (type->element != nullptr) type = type->element.get();
    const std::string name = config::join_path(path, field.name);
    if (type->kind == config::TypeKind::kStruct) find_unbounded(*type->structure, name, names);
    const bool is_number =
        type->kind == config::TypeKind::kInteger || type->kind == config::TypeKind::kNumber;
    const bool is_bounded =
        field.has_rule(RuleKind::kInRange) ||
        ((field.has_rule(RuleKind::kAtLeast) || field.has_rule(RuleKind::kMoreThan)) &&
         (field.has_rule(RuleKind::kAtMost) || field.has_rule(RuleKind::kLessThan)));
    // Of a seed every value is as good.
    if (is_number && !is_bounded && !field.name.ends_with("seed")) names.push_back(name);
  }
}

TEST(Builtin, EveryNumberOfARecipeIsBounded) {
  std::vector<std::string> names;
  find_unbounded(config::describe<Recipe>(), "", names);
  const auto registries = make_registries();
  for (const auto& [kind, catalog] : registries->catalogs()) {
    for (const auto& [name, entry] : catalog->entries()) {
      find_unbounded(*entry.info, kind + "." + name, names);
    }
  }
  EXPECT_THAT(names, testing::IsEmpty());
}

TEST(Builtin, CatalogsHoldEveryKindThatRecipesName) {
  const auto registries = make_registries();
  const config::Catalogs catalogs = registries->catalogs();
  for (const char* kind : {"model", "dataset", "transform", "optimizer", "schedule", "loss",
                           "algorithms", "callbacks", "loggers"}) {
    EXPECT_TRUE(catalogs.contains(kind)) << kind;
  }
}

TEST(Builtin, BuildsTheTransformThatARecipeNames) {
  const auto registries = make_registries();
  const auto built =
      registries->transforms.build(config::Component::of("resize", data::ResizeConfig{.size = 99}));
  EXPECT_EQ(built->name(), "resize");
  EXPECT_EQ(built->fixed_size(data::ImageSize{10, 10}), (data::ImageSize{99, 99}));
}

TEST(Builtin, BuildsTransformsInsideATransform) {
  const auto registries = make_registries();
  const auto bound = [&](const std::string& options) {
    return config::bind_component(*registries->transforms.find("random_apply"),
                                  config::parse_yaml(options, "recipe"), registries->context(1));
  };
  const auto built = registries->transforms.build(
      bound("{p: 1, transforms: [random_invert, {name: center_crop, size: 7}]}"));
  built->check();
  EXPECT_EQ(built->fixed_size(std::nullopt), (data::ImageSize{7, 7}));
  EXPECT_THAT([&] { bound("{transforms: [random_invert, {name: center_crop, sice: 7}]}"); },
              testing::ThrowsMessage<base::ConfigError>(
                  testing::HasSubstr("transforms[1].sice: there is no such key")));
}

TEST(Builtin, CifarIsScaledWhenAnotherSizeIsAskedFor) {
  const auto registries = make_registries();
  const auto plan =
      registries->datasets.build(config::Component::of("cifar10", data::Cifar10Config{}));
  EXPECT_EQ(plan->default_image_size, 32);
  for (const int size : {32, 224}) {
    const data::ImageSize wanted{size, size};
    EXPECT_EQ(data::TransformPipeline(plan->train_transforms(size, data::Augmentation::kWeak))
                  .output_size(),
              wanted);
    EXPECT_EQ(data::TransformPipeline(plan->eval_transforms(size)).output_size(), wanted);
  }
}

}  // namespace
}  // namespace paceline::app
