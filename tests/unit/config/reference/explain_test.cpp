#include "paceline/config/reference/explain.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

/// A component that the recipe does not name, with a section.
struct ExplainedSection {
  int every = 4;
};
struct ExplainedComponent {
  ExplainedSection within = {.every = 5};
};
struct OtherComponent {
  int own = 1;
};
struct ExplainedRecipe {
  Component part{"other"};
};

}  // namespace
}  // namespace paceline::config::test

template <>
struct paceline::config::Schema<paceline::config::test::ExplainedSection> {
  using Config = paceline::config::test::ExplainedSection;
  static constexpr std::string_view name = "within";
  static constexpr std::string_view summary = "Inside.";
  static constexpr auto fields = std::tuple{field(&Config::every, "every", "How often.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::ExplainedComponent> {
  using Config = paceline::config::test::ExplainedComponent;
  static constexpr std::string_view name = "explained";
  static constexpr std::string_view summary = "Holds a section.";
  static constexpr auto fields = std::tuple{field(&Config::within, "within", "What is inside.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::OtherComponent> {
  using Config = paceline::config::test::OtherComponent;
  static constexpr std::string_view name = "other";
  static constexpr std::string_view summary = "Holds none.";
  static constexpr auto fields = std::tuple{field(&Config::own, "own", "Its own.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::ExplainedRecipe> {
  using Config = paceline::config::test::ExplainedRecipe;
  static constexpr std::string_view name = "recipe";
  static constexpr std::string_view summary = "Holds a component.";
  static constexpr auto fields =
      std::tuple{inline_component(&Config::part, "part", "What is in it.")};
};

namespace paceline::config::test {
namespace {

std::string explain_in(std::string_view yaml, std::string_view key) {
  const Node written = parse_yaml(yaml, "r.yaml");
  const auto context = catalogs().context();
  const auto recipe = bind<Recipe>(written, context);
  return explain(key, describe<Recipe>(), &recipe, written, context);
}

TEST(Explain, TellsWhatAKeyIsAndWhereItWasWritten) {
  EXPECT_EQ(explain_in("data: cifar\ntrain:\n  grad_accum_steps: 4", "train.grad_accum_steps"),
            R"(train.grad_accum_steps = 4
  written in: r.yaml:3
  default:    1
  type:       integer, at least 1
  on resume:  must stay the same
  Microbatches per step.
)");
  EXPECT_EQ(explain_in("data: cifar", "optimizer.momentum"), R"(optimizer.momentum = 0.9
  written in: nowhere; this is the default
  default:    0.9
  type:       number, between 0 and 1
  on resume:  must stay the same
  Momentum factor.
)");
  EXPECT_EQ(explain_in("data: cifar\noptimizer: adamw", "optimizer.name"), R"(optimizer.name = adamw
  written in: r.yaml:2
  default:    sgd
  type:       adamw | sgd
  on resume:  must stay the same
  What turns gradients into updates.
)");
  EXPECT_EQ(explain_in("data: {path: x}", "data.path"), R"(data.path = x
  written in: r.yaml:1
  default:    none; the key must be written
  type:       text, not empty
  on resume:  may change
  The folder that holds train and val.
)");
}

TEST(Explain, KnowsTheDefaultsOfTheChosenComponent) {
  const std::string text = explain_in("data: cifar100", "data.num_classes");
  EXPECT_NE(text.find("default:    100\n"), text.npos) << text;
}

TEST(Explain, ListsASection) {
  EXPECT_EQ(explain_in("data: cifar\nrun: {seed: 2}", "run"),
            "run.name = run  (default)\nrun.seed = 2  (r.yaml:2)\n");
  EXPECT_EQ(explain_in("data: cifar\nalgorithms: {ema: }", "algorithms"),
            "algorithms.ema.half_life = 50ba  (default)\n");
}

TEST(Explain, FindsKeysOfSectionsOfOtherComponents) {
  Registry<ExplainedSection> parts{"part"};
  parts.add<ExplainedComponent>(nullptr);
  parts.add<OtherComponent>(nullptr);
  const BindContext context{{{"part", &parts}}, 1};
  const Node written = parse_yaml("name: other", "r.yaml");
  const auto recipe = bind<ExplainedRecipe>(written, context);
  const auto told = [&](std::string_view key) {
    return explain(key, describe<ExplainedRecipe>(), &recipe, written, context);
  };
  EXPECT_EQ(told("within.every"),
            "within.every, which the recipe has not\nof explained: default 5 (integer)\n  How "
            "often.\n");
  EXPECT_EQ(error_of([&] { told("within.other"); }), "there is no key 'within.other'");
  EXPECT_EQ(error_of([&] { told("own.every"); }), "there is no key 'own.every'");
}

TEST(Explain, HintsAtTheNearestKey) {
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "optimizer.momentun"); }),
            "there is no key 'optimizer.momentun'; did you mean optimizer.momentum?");
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "xyz"); }), "there is no key 'xyz'");
}

TEST(Explain, AnswersNamesOfOtherPrograms) {
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "max_epochs"); }),
            "there is no key 'max_epochs'; write train.duration=VALUEep (0 ranks)");
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "max_epochs=90"); }),
            "there is no key 'max_epochs=90'; write train.duration=90ep (0 ranks)");
}

}  // namespace
}  // namespace paceline::config::test
