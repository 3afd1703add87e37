#include "paceline/config/merge.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

std::string merged(const char* base, const char* over) {
  return to_flow_yaml(
      merge(parse_yaml(base, "base"), parse_yaml(over, "over"), describe<Recipe>()));
}

TEST(Merge, MapsMergeAndTheRestReplaces) {
  EXPECT_EQ(merged("{run: {seed: 1, name: a}}", "{run: {name: b}, train: {}}"),
            "{run: {seed: 1, name: b}, train: {}}");
  EXPECT_EQ(
      merged("{train: {mean: [1, 2], limits: {a: 1}}}", "{train: {mean: [3], limits: {b: 2}}}"),
      "{train: {mean: [3], limits: {a: 1, b: 2}}}");
  EXPECT_EQ(merged("{run: {seed: 1}}", "{run: null}"), "{run: null}");
  EXPECT_EQ(merged("{unknown: {a: 1}}", "{unknown: {b: 1}}"), "{unknown: {a: 1, b: 1}}");
}

TEST(Merge, ASectionFollowsItsComponent) {
  EXPECT_EQ(merged("{optimizer: {lr: 1}}", "{optimizer: {name: sgd, momentum: 0}}"),
            "{optimizer: {lr: 1, name: sgd, momentum: 0}}");
  EXPECT_EQ(merged("{optimizer: {name: sgd, lr: 1}}", "{optimizer: {name: adamw}}"),
            "{optimizer: {name: adamw}}");
  EXPECT_EQ(merged("{optimizer: adamw}", "{optimizer: {lr: 2}}"),
            "{optimizer: {name: adamw, lr: 2}}");
  EXPECT_EQ(merged("{optimizer: {lr: 2}}", "{optimizer: adamw}"), "{optimizer: {name: adamw}}");
}

TEST(Merge, AnInlineComponentTakesOnlyItsOwnKeysAway) {
  EXPECT_EQ(
      merged("{data: {path: x, global_batch_size: 2}}", "{data: {name: cifar, num_classes: 10}}"),
      "{data: {global_batch_size: 2, name: cifar, num_classes: 10}}");
  EXPECT_EQ(merged("{data: {path: x}}", "{data: {name: folder}}"),
            "{data: {path: x, name: folder}}");
}

TEST(Merge, PositionsComeFromTheWinner) {
  const Node node = merge(parse_yaml("run:\n  seed: 1\n  name: a", "base"),
                          parse_yaml("run: {seed: 2}", "over"), describe<Recipe>());
  EXPECT_EQ(node.find_path("run.seed")->position.to_string(), "over:1");
  EXPECT_EQ(node.find_path("run.name")->position.to_string(), "base:3");
}

}  // namespace
}  // namespace paceline::config::test
