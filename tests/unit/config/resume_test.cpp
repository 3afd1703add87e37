#include "paceline/config/resume.h"

#include "unit/config/test_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

Node resolved(std::string_view yaml) {
  const Recipe recipe = bind_yaml(yaml);
  return to_node(describe<Recipe>(), &recipe);
}

std::string differences(const Node& before, const Node& after) {
  const auto context = catalogs().context();
  std::string text;
  for (const auto& each : resume_differences(before, after, describe<Recipe>(), context.catalogs)) {
    if (each.is_allowed) continue;
    text += fmt::format("{}: {} -> {}; ", each.key, each.before, each.after);
  }
  return text;
}

TEST(Resume, SomeKeysMayChangeAndOthersNot) {
  const Node before = resolved("data: {path: /a}\noptimizer: {lr: 0.1}");
  EXPECT_EQ(differences(before, resolved("data: {path: /a}")), "");
  EXPECT_EQ(
      differences(before, resolved("data: {path: /b}\nrun: {name: x}\ntrain: {duration: 100ep}\n"
                                   "loggers: {tensorboard: {interval: 3}}")),
      "");
  EXPECT_EQ(
      differences(before, resolved("data: {path: /a, global_batch_size: 8}\noptimizer: {lr: 0.2}\n"
                                   "train: {mean: [1, 2, 3]}")),
      "data.global_batch_size: null -> 8; train.mean: [0.5, 0.5, 0.5] -> [1, 2, 3]; "
      "optimizer.lr: 0.1 -> 0.2; ");
}

TEST(Resume, AnotherComponentIsOneDifference) {
  EXPECT_EQ(differences(resolved("data: cifar"), resolved("data: cifar\noptimizer: adamw")),
            "optimizer.name: sgd -> adamw; ");
  EXPECT_EQ(differences(resolved("data: cifar"), resolved("data: cifar100")),
            "data.name: cifar -> cifar100; ");
}

TEST(Resume, AlgorithmsComeAndGoOnlyWithANewRun) {
  const Node without = resolved("data: cifar");
  const Node with = resolved("data: cifar\nalgorithms: {ema: }");
  EXPECT_EQ(differences(without, with), "algorithms.ema: absent -> {half_life: 50ba}; ");
  EXPECT_EQ(differences(with, without), "algorithms.ema: {half_life: 50ba} -> absent; ");
  EXPECT_EQ(differences(with, resolved("data: cifar\nalgorithms: {ema: {half_life: 9ba}}")),
            "algorithms.ema.half_life: 50ba -> 9ba; ");
}

TEST(Resume, AKeyThatAnOlderVersionDidNotKnowHadItsDefault) {
  Node before = resolved("data: cifar");
  before.find("optimizer")->erase("nesterov");
  before.find("train")->erase("mean");
  EXPECT_EQ(differences(before, resolved("data: cifar")), "");
  EXPECT_EQ(differences(before, resolved("data: cifar\noptimizer: {nesterov: true}")),
            "optimizer.nesterov: false -> true; ");
  before = resolved("data: cifar100");
  before.find("data")->erase("num_classes");
  EXPECT_EQ(differences(before, resolved("data: cifar100")), "");
  EXPECT_EQ(differences(before, resolved("data: {name: cifar100, num_classes: 7}")),
            "data.num_classes: 100 -> 7; ");
}

TEST(Resume, TheErrorNamesBothValues) {
  const auto context = catalogs().context();
  const Node before = resolved("data: cifar");
  EXPECT_EQ(error_of([&] {
              check_resume(before,
                           resolved("data: cifar\nrun: {seed: 2}\noptimizer: {momentum: 0}"),
                           describe<Recipe>(), context.catalogs);
            }),
            R"(the run cannot be resumed with another configuration:
  run.seed: was 1, is 2
  optimizer.momentum: was 0.9, is 0
Put these back, or start a new run from its weights: model.pretrained=RUN@best (or @last) and another --run-dir)");
  EXPECT_TRUE(check_resume(before, before, describe<Recipe>(), context.catalogs).empty());
}

TEST(Resume, WhatMayChangeIsTold) {
  const auto context = catalogs().context();
  const Node after = resolved("data: cifar\ntrain: {duration: 100ep}\nloggers: {tensorboard: }");
  const auto lines =
      check_resume(resolved("data: cifar"), after, describe<Recipe>(), context.catalogs);
  EXPECT_THAT(lines, ::testing::Contains("train.duration: was 90ep, is 100ep"));
  EXPECT_THAT(lines,
              ::testing::Contains(::testing::StartsWith("loggers.tensorboard: was absent, is ")));
}

}  // namespace
}  // namespace paceline::config::test
