#include "paceline/config/component.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

TEST(Component, KeepsItsOptionsAndTheirType) {
  const Component component = Component::of("sgd", SgdOptions{.lr = 0.5});
  const Component copy = component;
  EXPECT_EQ(copy.as<SgdOptions>().lr, 0.5);
  try {
    copy.as<AdamWOptions>();
    FAIL();
  } catch (const base::InternalError& error) {
    EXPECT_NE(
        std::string(error.what()).find("component 'sgd' has options of 'sgd', not of 'adamw'"),
        std::string::npos)
        << error.what();
  }
  EXPECT_THROW(Component{"sgd"}.as<SgdOptions>(), base::InternalError);
}

TEST(Registry, BuildsWhatWasRegistered) {
  const TestCatalogs all;
  EXPECT_EQ(all.optimizers.build(Component::of("sgd", SgdOptions{}), 3)->text, "sgd 0.1 3");
  EXPECT_EQ(all.optimizers.names(), (std::vector<std::string>{"adamw", "sgd"}));
  EXPECT_EQ(all.optimizers.find("sgd")->paper, "Robbins and Monro, 1951");
  EXPECT_EQ(all.optimizers.find("none"), nullptr);
  EXPECT_THROW(all.optimizers.build(Component::of("none", SgdOptions{}), 3), base::InternalError);
}

TEST(Registry, RefusesANameTwice) {
  Registry<Product> registry("thing");
  registry.add<CifarOptions>(nullptr);
  EXPECT_THROW(registry.add<CifarOptions>(nullptr), base::InternalError);
  registry.add<CifarOptions>("other", "Another.", {}, nullptr);
  EXPECT_EQ(registry.entries().size(), 2u);
}

}  // namespace
}  // namespace paceline::config::test
