#include "paceline/config/bind.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

std::string problems_of(std::string_view yaml, int world_size = 0) {
  return error_of([&] { bind_yaml(yaml, world_size); });
}

TEST(Bind, ReadsEveryType) {
  const Recipe recipe = bind_yaml(R"(
run: {name: 7, seed: 1.2e6}
data:
  path: /data
  global_batch_size: 1_024
  name: folder
  transforms: [resize, {name: resize, size: 32}]
train:
  duration: [90ep, 2h30m]
  precision: bf16
  grad_clip_norm: .5
  mean: [1, 2, 3]
  limits: {a: 1, b: 2}
optimizer: {name: adamw, betas: [0.8, 0.9]}
algorithms: {mixup: {alpha: 0.4}, ema: }
loggers: {tensorboard: }
)");
  EXPECT_EQ(recipe.run.name, "7");
  EXPECT_EQ(recipe.run.seed, 1'200'000u);
  EXPECT_EQ(recipe.data.source.as<FolderOptions>().path, "/data");
  EXPECT_EQ(recipe.data.global_batch_size, 1024);
  EXPECT_EQ(recipe.data.batch_size_per_rank, std::nullopt);
  ASSERT_EQ(recipe.data.transforms.size(), 2u);
  EXPECT_EQ(recipe.data.transforms[0].as<ResizeOptions>().size, 256);
  EXPECT_EQ(recipe.data.transforms[1].as<ResizeOptions>().size, 32);
  EXPECT_EQ(recipe.train.duration,
            (DurationList{{{90, TimeUnit::kEpoch}, {9000, TimeUnit::kSecond}}}));
  EXPECT_EQ(recipe.train.precision, Precision::kBf16);
  EXPECT_EQ(recipe.train.grad_accum_steps, 1);
  EXPECT_EQ(recipe.train.grad_clip_norm, 0.5);
  EXPECT_EQ(recipe.train.mean, (std::array<double, 3>{1, 2, 3}));
  EXPECT_EQ(recipe.train.limits, (std::map<std::string, int>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(recipe.optimizer.name, "adamw");
  EXPECT_EQ(recipe.optimizer.as<AdamWOptions>().betas, (std::vector<double>{0.8, 0.9}));
  EXPECT_EQ(recipe.algorithms.at("mixup").as<MixUpOptions>().alpha, 0.4);
  EXPECT_EQ(recipe.algorithms.at("ema").as<EmaOptions>().half_life.value, 50);
  EXPECT_EQ(recipe.loggers.size(), 1u);
}

TEST(Bind, ResolvesComponentsThatNobodyWrote) {
  const Recipe recipe = bind_yaml("data: {path: x}");
  EXPECT_EQ(recipe.optimizer.as<SgdOptions>().momentum, 0.9);
  EXPECT_EQ(recipe.loggers.at("console").as<LoggerOptions>().interval, 10);
}

TEST(Bind, AComponentMayHaveItsOwnDefaults) {
  EXPECT_EQ(bind_yaml("data: cifar100").data.source.as<CifarOptions>().num_classes, 100);
  EXPECT_EQ(bind_yaml("data: cifar").data.source.as<CifarOptions>().num_classes, 10);
}

TEST(Bind, NullGivesAnOptionalNoValueAndASectionItsDefaults) {
  const Recipe recipe =
      bind_yaml("data: {path: x, global_batch_size: null}\ntrain: null\noptimizer: ");
  EXPECT_EQ(recipe.data.global_batch_size, std::nullopt);
  EXPECT_EQ(recipe.optimizer.name, "sgd");
}

TEST(Bind, ListsAllProblemsAtOnce) {
  EXPECT_EQ(problems_of(R"(run: {seeds: 1}
data: {path: ''}
train:
  duration: 90
  grad_accum_steps: 0
  mean: [1, 2]
  precision: bf61
optimizer:
  lr: fast
  momentum: 1.5
algorithms: {mixupp: }
)"),
            R"(9 problems in the configuration:
  recipe.yaml:1: run.seeds: there is no such key; did you mean run.seed?
  recipe.yaml:2: data.path: must not be empty
  recipe.yaml:4: train.duration: '90' is not a duration: the unit is missing; write for example 90ep (epochs), 5000ba (optimizer steps), 1.2e6sp (samples), 0.7dur (share of the run) or 2h30m (wall clock)
  recipe.yaml:7: train.precision: must be one of fp32, bf16, got 'bf61'; did you mean bf16?
  recipe.yaml:5: train.grad_accum_steps: must be at least 1, got 0
  recipe.yaml:6: train.mean: must be a list of 3 x number, got 2 of them
  recipe.yaml:9: optimizer.lr: must be a number, got 'fast'
  recipe.yaml:10: optimizer.momentum: must be between 0 and 1, got 1.5
  recipe.yaml:11: algorithms.mixupp: there is no 'mixupp'; did you mean mixup? Known: ema, mixup)");
}

TEST(Bind, SaysWhatIsWrongWithATypeOfValue) {
  const auto train = [](std::string_view yaml) {
    return problems_of(fmt::format("data: {{path: x}}\ntrain: {}", yaml));
  };
  EXPECT_EQ(train("{grad_accum_steps: 1.5}"),
            "recipe.yaml:2: train.grad_accum_steps: must be an integer, got '1.5'");
  EXPECT_EQ(train("{grad_accum_steps: '2'}"),
            "recipe.yaml:2: train.grad_accum_steps: must be an integer, got the text '2'");
  EXPECT_EQ(train("{grad_accum_steps: 3000000000}"),
            "recipe.yaml:2: train.grad_accum_steps: must be an integer between -2147483648 and "
            "2147483647, got '3000000000'");
  EXPECT_EQ(train("{grad_accum_steps: null}"),
            "recipe.yaml:2: train.grad_accum_steps: must be an integer, got null");
  EXPECT_EQ(train("{mean: 3}"), "recipe.yaml:2: train.mean: must be a list of 3 x number, got '3'");
  EXPECT_EQ(train("{mean: [1, x, 2]}"), "recipe.yaml:2: train.mean[1]: must be a number, got 'x'");
  EXPECT_EQ(train("{limits: [1]}"),
            "recipe.yaml:2: train.limits: must be a map of name to integer, got the list [1]");
  EXPECT_EQ(train("{limits: {a: -1}}"), "recipe.yaml:2: train.limits: must be at least 0, got -1");
  EXPECT_EQ(train("{grad_clip_norm: 0}"),
            "recipe.yaml:2: train.grad_clip_norm: must be more than 0, got 0");
  EXPECT_EQ(train("{grad_clip_norm: nan}"),
            "recipe.yaml:2: train.grad_clip_norm: must be a number, got 'nan'");
  EXPECT_EQ(train("[1]"),
            "recipe.yaml:2: train: must be a section with keys such as duration, precision, "
            "grad_accum_steps, got the list [1]");
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer: {nesterov: yes}"),
            "recipe.yaml:2: optimizer.nesterov: must be true or false, got 'yes'");
  EXPECT_EQ(problems_of("data: {path: x}\nrun: {name: [a]}"),
            "recipe.yaml:2: run.name: must be text, got the list [a]");
}

TEST(Bind, SaysWhatIsWrongWithAComponent) {
  EXPECT_EQ(
      problems_of("data: {path: x}\noptimizer: adamv"),
      "recipe.yaml:2: optimizer.name: there is no 'adamv'; did you mean adamw? Known: adamw, sgd");
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer: {name: zzz}"),
            "recipe.yaml:2: optimizer.name: there is no 'zzz'. Known: adamw, sgd");
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer: {name: [sgd]}"),
            "recipe.yaml:2: optimizer.name: must be a component's name, got the list [sgd]");
  EXPECT_EQ(problems_of("data: {path: x, transforms: [{size: 2}]}"),
            "recipe.yaml:1: data.transforms[0].name: is missing: write one of resize");
}

TEST(Bind, AWrongNameDoesNotHideWhatElseIsWrong) {
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer: {name: adamv, lr: fast, betaz: 1}"),
            R"(3 problems in the configuration:
  recipe.yaml:2: optimizer.name: there is no 'adamv'; did you mean adamw? Known: adamw, sgd
  recipe.yaml:2: optimizer.lr: must be a number, got 'fast'
  recipe.yaml:2: optimizer.betaz: there is no such key; did you mean optimizer.betas?)");
  EXPECT_EQ(problems_of("data: {name: foldr, path: '', global_batch_size: x}"),
            R"(3 problems in the configuration:
  recipe.yaml:1: data.name: there is no 'foldr'; did you mean folder? Known: cifar, cifar100, folder
  recipe.yaml:1: data.path: must not be empty
  recipe.yaml:1: data.global_batch_size: must be an integer, got 'x')");
  EXPECT_EQ(problems_of("data: {path: x}\nalgorithms: {mixupp: {alpha: -1, beta: 2}}"),
            R"(3 problems in the configuration:
  recipe.yaml:2: algorithms.mixupp: there is no 'mixupp'; did you mean mixup? Known: ema, mixup
  recipe.yaml:2: algorithms.mixupp.alpha: must be more than 0, got -1
  recipe.yaml:2: algorithms.mixupp.beta: there is no such key; known: alpha, name)");
}

TEST(Bind, ARequiredKeyIsMissed) {
  EXPECT_EQ(problems_of("data: {name: folder}"),
            "recipe.yaml:1: data.path: is missing: write it (text; The folder that holds train and "
            "val.)");
  // The component's keys and the section's own are both offered.
  EXPECT_EQ(problems_of("data:\n  path: x\n  global_batchsize: 3"),
            "recipe.yaml:3: data.global_batchsize: there is no such key; did you mean "
            "data.global_batch_size?");
}

TEST(Bind, CrossFieldRulesRunWhenTheFieldsAreSound) {
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer:\n  nesterov: true\n  momentum: 0"),
            "recipe.yaml:3: optimizer.nesterov: needs momentum; set optimizer.momentum or leave "
            "nesterov out");
  EXPECT_EQ(problems_of("data:\n  path: x\n  global_batch_size: 8\n  batch_size_per_rank: 4"),
            "recipe.yaml:4: data.batch_size_per_rank: the batch is given twice; remove this or "
            "global_batch_size");
  EXPECT_EQ(problems_of("data: {path: x}\noptimizer:\n  nesterov: true\n  momentum: -1"),
            "recipe.yaml:4: optimizer.momentum: must be between 0 and 1, got -1");
}

TEST(Bind, AnswersNamesOfOtherPrograms) {
  EXPECT_EQ(problems_of("data: {path: x}\nmax_epochs: 90", 4),
            "recipe.yaml:2: max_epochs: there is no such key; write train.duration=90ep (4 ranks)");
  EXPECT_EQ(problems_of("data: {path: x}\ntrain: {precision: bf16-mixed}"),
            "recipe.yaml:2: train.precision: must be one of fp32, bf16, got 'bf16-mixed'; here "
            "it is called bf16");
  EXPECT_EQ(problems_of("data: {path: x}\nlr: 3"),
            "recipe.yaml:2: lr: there is no such key; write optimizer.lr=3");
}

TEST(Bind, DoesNotRepeatASecret) {
  const std::string message = problems_of("data: {path: x}\nhf_token: sesame");
  EXPECT_EQ(
      message,
      "recipe.yaml:2: hf_token: there is no such key; secrets come from the environment or the "
      "tool's own credential file, never from options or recipes");
}

TEST(Bind, WhatIsWrittenIsReadBack) {
  const Recipe recipe = bind_yaml(
      "data: {path: 'a: b', transforms: [resize]}\nrun: {name: 'null'}\n"
      "train: {duration: [1.5ep, 90s], limits: {'a b': 1}}\nalgorithms: {ema: {half_life: "
      "0.3dur}}");
  const std::string yaml = to_yaml(to_node(describe<Recipe>(), &recipe));
  const Recipe again = bind_yaml(yaml);
  EXPECT_EQ(to_yaml(to_node(describe<Recipe>(), &again)), yaml);
  EXPECT_EQ(again.run.name, "null");
  EXPECT_EQ(again.data.source.as<FolderOptions>().path, "a: b");
  EXPECT_EQ(again.train.duration, recipe.train.duration);
}

}  // namespace
}  // namespace paceline::config::test
