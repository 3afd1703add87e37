#include "paceline/config/reference/reference.h"

#include "unit/config/test_recipe.h"

#include <optional>

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

struct Inner {
  int every = 1;
};

struct Outer {
  std::optional<Inner> inner;
};

/// A component with a section.
struct WithSection {
  Inner inner = {.every = 3};
  int own = 2;
};

struct HasComponent {
  Component part{"with_section"};
};

}  // namespace
}  // namespace paceline::config::test

template <>
struct paceline::config::Schema<paceline::config::test::Inner> {
  using Config = paceline::config::test::Inner;
  static constexpr std::string_view name = "inner";
  static constexpr std::string_view summary = "Inside.";
  static constexpr auto fields = std::tuple{field(&Config::every, "every", "How often.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::Outer> {
  using Config = paceline::config::test::Outer;
  static constexpr std::string_view name = "outer";
  static constexpr std::string_view summary = "Outside.";
  static constexpr auto fields = std::tuple{field(&Config::inner, "inner", "What is inside.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::WithSection> {
  using Config = paceline::config::test::WithSection;
  static constexpr std::string_view name = "with_section";
  static constexpr std::string_view summary = "Holds a section.";
  static constexpr auto fields = std::tuple{field(&Config::inner, "inner", "What is inside."),
                                            field(&Config::own, "own", "Its own.")};
};

template <>
struct paceline::config::Schema<paceline::config::test::HasComponent> {
  using Config = paceline::config::test::HasComponent;
  static constexpr std::string_view name = "has_component";
  static constexpr std::string_view summary = "Holds a component.";
  static constexpr auto fields = std::tuple{component(&Config::part, "part", "What is in it.")};
};

namespace paceline::config::test {
namespace {

TEST(Reference, ShowsSectionsOfComponents) {
  Registry<Inner> parts{"part"};
  parts.add<WithSection>(nullptr);
  const std::string text = reference_markdown(describe<HasComponent>(), {{"part", &parts}});
  EXPECT_NE(text.find("| `inner.every` | integer | `3` | How often. |\n"
                      "| `own` | integer | `2` | Its own. |\n"),
            text.npos)
      << text;
}

TEST(Reference, ShowsSectionsThatMayBeNull) {
  const std::string text = reference_markdown(describe<Outer>(), {});
  EXPECT_NE(text.find("\n## `inner`\n\nWhat is inside.\n"), text.npos) << text;
  EXPECT_NE(text.find("| `every` | integer | `1` | How often. |\n"), text.npos) << text;
}

TEST(Reference, ShowsSectionsAndComponents) {
  const auto context = catalogs().context();
  const std::string text = reference_markdown(describe<Recipe>(), context.catalogs);
  const auto holds = [&](std::string_view part) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  };
  EXPECT_EQ(text.substr(0, 28), "# recipe\n\nA training run.\n\n|");
  holds("| `optimizer` | a component | `sgd` | What turns gradients into updates. |\n");
  holds(
      "| `loggers` | map from components to their keys | `{console: {}, jsonl: {}}` | Where "
      "metrics go. May "
      "change on resume. |\n");
  holds(
      "\n## `data`\n\nThe images.\n\n| key | type | default | meaning |\n|---|---|---|---|\n"
      "| `name` | a component | `folder` | The data set. |\n");
  holds("| `precision` | fp32 \\| bf16 | `fp32` | Type of the activations. |\n");
  holds("\n## Components for `data`\n\n### `cifar`\n\nSmall images.\n");
  holds(
      "### `cifar100`\n\nSmall images of 100 classes.\n\n| key | type | default | meaning "
      "|\n|---|---|---|---|\n"
      "| `num_classes` | integer | `100` | 10 or 100. |\n");
  holds(
      "| `path` | text, not empty | must be written | The folder that holds train and val. May "
      "change on "
      "resume. |\n");
  holds("\n## Components for `data.transforms`\n\n### `resize`\n");
  holds("\nSource: Robbins and Monro, 1951\n");
}

}  // namespace
}  // namespace paceline::config::test
