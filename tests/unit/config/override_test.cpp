#include "paceline/config/override.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

/// The recipe after the overrides, in flow style; or the problems.
std::string apply(std::string_view yaml, std::vector<std::string> overrides) {
  Node recipe = parse_yaml(yaml, "r.yaml");
  Problems problems;
  apply_overrides(recipe, overrides, describe<Recipe>(), problems);
  return problems.empty() ? to_flow_yaml(recipe) : problems.message();
}

TEST(Override, SetsValuesOfAllShapes) {
  EXPECT_EQ(apply("{}", {"optimizer.lr=0.1"}), "{optimizer: {lr: 0.1}}");
  EXPECT_EQ(apply("{train: {mean: [1, 2, 3]}}", {"train.mean=[4, 5, 6]"}),
            "{train: {mean: [4, 5, 6]}}");
  EXPECT_EQ(apply("{train: {duration: 1ep}}", {"train={precision: bf16}"}),
            "{train: {duration: 1ep, precision: bf16}}");
  EXPECT_EQ(apply("{train: {grad_clip_norm: 1}}", {"train.grad_clip_norm=null"}),
            "{train: {grad_clip_norm: null}}");
  EXPECT_EQ(apply("{train: {grad_clip_norm: 1}}", {"train.grad_clip_norm="}),
            "{train: {grad_clip_norm: null}}");
}

TEST(Override, PicksAComponent) {
  EXPECT_EQ(apply("{optimizer: {name: sgd, lr: 1}}", {"optimizer=adamw"}),
            "{optimizer: {name: adamw}}");
  EXPECT_EQ(apply("{optimizer: {momentum: 1}}", {"optimizer.name=adamw"}),
            "{optimizer: {name: adamw}}");
  EXPECT_EQ(apply("{optimizer: {name: adamw, lr: 1}}", {"optimizer=adamw", "optimizer.lr=2"}),
            "{optimizer: {name: adamw, lr: 2}}");
  EXPECT_EQ(apply("{data: {path: x, global_batch_size: 8}}", {"data=cifar"}),
            "{data: {global_batch_size: 8, name: cifar}}");
}

TEST(Override, PicksComponentsBeforeItSetsTheirKeys) {
  const std::string_view with_sgd = "{optimizer: {name: sgd, momentum: 1}}";
  EXPECT_EQ(apply(with_sgd, {"optimizer.lr=2", "optimizer=adamw"}),
            "{optimizer: {name: adamw, lr: 2}}");
  EXPECT_EQ(apply(with_sgd, {"optimizer.lr=2", "optimizer.name=adamw"}),
            "{optimizer: {name: adamw, lr: 2}}");
  EXPECT_EQ(apply(with_sgd, {"optimizer.lr=2", "optimizer={name: adamw, betas: [0, 0]}"}),
            "{optimizer: {name: adamw, betas: [0, 0], lr: 2}}");
  EXPECT_EQ(apply(with_sgd, {"++optimizer.lr=2", "++optimizer=adamw"}),
            "{optimizer: {name: adamw, lr: 2}}");
  EXPECT_EQ(apply("{}", {"data.num_classes=5", "data=cifar"}),
            "{data: {name: cifar, num_classes: 5}}");
  EXPECT_EQ(apply("{run: {seed: 1}}", {"run.seed=2", "run.name=x"}), "{run: {seed: 2, name: x}}")
      << "the name of a run is no component";
}

TEST(Override, NoneIsLostToAnother) {
  const auto lost = [](const std::string& text, const std::string& key, const std::string& other) {
    return "command line: " + text + ": " + key + ": has no effect beside '" + other +
           "': leave one of them out";
  };
  EXPECT_EQ(apply("{}", {"run.seed=1", "run.seed=2"}),
            lost("run.seed=1", "run.seed", "run.seed=2"));
  EXPECT_EQ(apply("{}", {"optimizer=sgd", "optimizer.name=adamw"}),
            lost("optimizer=sgd", "optimizer", "optimizer.name=adamw"));
  EXPECT_EQ(apply("{}", {"optimizer={name: adamw, lr: 1}", "optimizer.lr=2"}),
            lost("optimizer={name: adamw, lr: 1}", "optimizer", "optimizer.lr=2"));
  EXPECT_EQ(apply("{}", {"train.grad_clip_norm=null", "++train.grad_clip_norm=1"}),
            lost("train.grad_clip_norm=null", "train.grad_clip_norm", "++train.grad_clip_norm=1"));
  EXPECT_EQ(apply("{}", {"+algorithms.mixup.alpha=1", "~algorithms.mixup"}),
            lost("+algorithms.mixup.alpha=1", "algorithms.mixup.alpha", "~algorithms.mixup"));
  EXPECT_EQ(apply("{}", {"train={precision: bf16}", "train.precision=fp32"}),
            lost("train={precision: bf16}", "train", "train.precision=fp32"));
}

TEST(Override, TheOneThatTookTheEffectIsNamed) {
  const std::string message =
      apply("{}", {"optimizer={name: sgd, lr: 1}", "optimizer.momentum=2", "optimizer.lr=3"});
  EXPECT_NE(message.find("beside 'optimizer.lr=3'"), message.npos) << message;
}

TEST(Override, AComponentIsPickedAnewAfterItsRemoval) {
  EXPECT_EQ(apply("{optimizer: {name: adamw, lr: 1}}", {"~optimizer", "optimizer=sgd"}),
            "{optimizer: sgd}");
  EXPECT_EQ(apply("{optimizer: {name: sgd, lr: 1}}", {"~optimizer.lr", "optimizer=sgd"}),
            "{optimizer: {name: sgd}}");
}

TEST(Override, WhatSaysTheSameOrAddsToAnotherIsNotLost) {
  EXPECT_EQ(apply("{}", {"run.seed=1", "run.seed=1"}), "{run: {seed: 1}}");
  EXPECT_EQ(apply("{}", {"train={precision: bf16}", "train.duration=1ep"}),
            "{train: {precision: bf16, duration: 1ep}}");
  EXPECT_EQ(apply("{}", {"+algorithms.mixup", "algorithms.mixup.alpha=1"}),
            "{algorithms: {mixup: {alpha: 1}}}");
  EXPECT_EQ(apply("{algorithms: {mixup: {alpha: 1}}}", {"~algorithms.mixup", "+algorithms.mixup"}),
            "{algorithms: {mixup: null}}");
  EXPECT_EQ(apply("{}", {"optimizer=adamw", "optimizer.name=adamw"}), "{optimizer: {name: adamw}}");
}

TEST(Override, AddsAndRemoves) {
  EXPECT_EQ(apply("{algorithms: {ema: null}}", {"+algorithms.mixup.alpha=0.3"}),
            "{algorithms: {ema: null, mixup: {alpha: 0.3}}}");
  EXPECT_EQ(apply("{algorithms: {ema: null}}", {"+algorithms.mixup"}),
            "{algorithms: {ema: null, mixup: null}}");
  EXPECT_EQ(apply("{algorithms: {ema: null, mixup: null}}",
                  {"~algorithms.ema", "algorithms.mixup.alpha=1"}),
            "{algorithms: {mixup: {alpha: 1}}}");
  EXPECT_EQ(apply("{run: {seed: 1}}", {"++run.seed=2", "++run.name=x"}),
            "{run: {seed: 2, name: x}}");
  EXPECT_EQ(apply("{run: {seed: 1}, train: }", {"~train", "~run.seed"}), "{run: {}}");
}

TEST(Override, ReachesTheEntriesOfADefaultMap) {
  const std::string all = apply("{}", {"+loggers.tensorboard"});
  EXPECT_EQ(all, "{loggers: {console: {}, jsonl: {}, tensorboard: null}}");
  EXPECT_EQ(apply("{}", {"~loggers.jsonl"}), "{loggers: {console: {}}}");
  EXPECT_EQ(apply("{}", {"loggers.console.interval=5"}),
            "{loggers: {console: {interval: 5}, jsonl: {}}}");
}

TEST(Override, RefusesWhatMakesNoSense) {
  EXPECT_EQ(apply("{}", {"~run.seed"}),
            "command line: ~run.seed: run.seed: is not in the recipe, so it cannot be removed");
  EXPECT_EQ(apply("{}", {"algorithms.ema="}),
            "command line: algorithms.ema=: algorithms.ema: there is no algorithms.ema in the "
            "recipe: to add "
            "it write +algorithms.ema");
  const std::string form =
      ": an override is section.key=value, +section.key=value to add or ~section.key to remove";
  for (const std::string text : {"a", "=1", "a..b=1", "~a=1", "a b=1", ""}) {
    EXPECT_EQ(apply("{}", {text}), "command line: " + text + form);
  }
  EXPECT_EQ(apply("{}", {"a=[1"}),
            "command line: a=[1: not valid YAML: end of sequence flow not found");
}

TEST(Override, RefusesSecretsWithoutRepeatingThem) {
  for (const std::string text :
       {"hub.token=sesame", "+loggers.x.api_key=sesame", "HF_TOKEN=sesame", "db-password=sesame"}) {
    const std::string message = apply("{}", {text});
    EXPECT_NE(message.find("seems to hold a secret"), message.npos) << message;
    EXPECT_EQ(message.find("sesame"), message.npos) << message;
  }
  const std::string message = apply("{}", {"run.name=hf_abcdefghijklmnop"});
  EXPECT_NE(message.find("'run.name' seems to hold a secret"), message.npos) << message;
  EXPECT_EQ(message.find("abcdef"), message.npos) << message;
  EXPECT_EQ(apply("{}", {"run.name=hf_vit"}), "{run: {name: hf_vit}}");
}

}  // namespace
}  // namespace paceline::config::test
