#include "paceline/app/assembly/recipe_check.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Recipe recipe_of(std::string_view yaml, const Registries& registries) {
  return config::bind<Recipe>(config::parse_yaml(yaml, "r.yaml"), {registries.catalogs(), 0});
}

std::vector<std::string> problems_of(std::string_view yaml) {
  const auto registries = make_registries();
  config::Loaded<Recipe> loaded;
  loaded.written = config::parse_yaml(yaml, "r.yaml");
  loaded.value = config::bind<Recipe>(loaded.written, {registries->catalogs(), 0});
  return problems_without_data(loaded, *registries);
}

TEST(RecipeCheck, ASoundRecipeHasNone) {
  EXPECT_THAT(problems_of("data: {path: /data}"), IsEmpty());
  EXPECT_THAT(problems_of("data: {name: synthetic, eval_transforms: [normalize]}\n"
                          "train: {precision: auto}\nparallel: {fsdp: {param_dtype: fp32}}\n"),
              IsEmpty());
}

TEST(RecipeCheck, ARecipeMayComeBeforeItsVolumes) {
  const std::string cascade = "model: {name: ct_cascade}\ntask: {name: ct_diffusion}\n";
  EXPECT_THAT(problems_of(cascade + "data: {name: ct, path: /data/ct}\n"), IsEmpty());
  EXPECT_THAT(problems_of(cascade + "data: {name: ct, path: /tmp}\n"), Not(IsEmpty()))
      << "a folder that is there holds none";
}

TEST(RecipeCheck, ImagesMayHaveTheSizeOfTheWeights) {
  const std::string vit = "model: {name: vit, img_size: 96, pretrained: '";
  const std::string own_size = "data: {path: /data, image_size: 224}\n";
  EXPECT_THAT(problems_of("model: {name: vit, img_size: 96}\ndata: {path: /data}\n"),
              ElementsAre(HasSubstr("96")));
  for (const std::string weights : {"hf:some/net", "torchvision:vit_b_16/DEFAULT"}) {
    EXPECT_THAT(problems_of(vit + weights + "'}\ndata: {path: /data}\n"), IsEmpty());
    EXPECT_THAT(problems_of(vit + weights + "'}\n" + own_size), ElementsAre(HasSubstr("96")));
  }
  // Which tell nothing.
  EXPECT_THAT(problems_of(vit + "https://host/net.safetensors'}\ndata: {path: /data}\n"),
              ElementsAre(HasSubstr("96")));
}

TEST(RecipeCheck, TellsAllThatTrainWouldRefuse) {
  EXPECT_THAT(problems_of(""), ElementsAre(HasSubstr("data.path: is not set")));
  const auto problems = problems_of(
      "model: {name: vit, freeze_batch_norm: true}\n"
      "data: {path: '', train_transforms: [normalize, center_crop]}\n"
      "parallel: {fsdp: {param_dtype: bf16}}\n");
  EXPECT_THAT(problems,
              ElementsAre(HasSubstr("data.path"), HasSubstr("normalize"),
                          HasSubstr("parallel.fsdp.param_dtype"), HasSubstr("BatchNorm")));
}

TEST(RecipeCheck, OptionsOfAnotherStrategyAreNotInUse) {
  const std::string powersgd =
      "data: {path: /data}\ntrain: {precision: fp16}\n"
      "parallel: {ddp: {compression: powersgd}, strategy: ";
  EXPECT_THAT(problems_of(powersgd + "ddp}"), ElementsAre(HasSubstr("parallel.ddp.compression")));
  EXPECT_THAT(problems_of(powersgd + "fsdp}"), IsEmpty());
}

TEST(RecipeCheck, NamesOfMetrics) {
  const auto problems = problems_of(
      "data: {path: /data}\ntrain: {stop_when: val/acc > 0.5}\ncheckpoint: {monitor: val_loss}\n"
      "callbacks: {early_stop: {monitor: top1}}\n");
  EXPECT_THAT(problems,
              ElementsAre(AllOf(
                  HasSubstr("train.stop_when: 'val/acc' is no metric of the evaluation; expected "
                            "one of val/loss, val/top1, val/top5"),
                  HasSubstr("checkpoint.monitor: 'val_loss' is no metric"),
                  HasSubstr("callbacks.early_stop.monitor: 'top1' is no metric"))));
  EXPECT_THAT(problems_of("data: {path: /data}\ncheckpoint: {monitor: val_loss, keep_best: 0}"),
              IsEmpty());
}

TEST(RecipeCheck, NamesOfWhatEvaluationsMeasureBesides) {
  const std::string recipe =
      "data: {path: /data}\ncheckpoint: {monitor: val/f1_macro}\n"
      "callbacks: {early_stop: {monitor: val/loss_p99.5}}\n";
  EXPECT_THAT(problems_of(recipe), ElementsAre(AllOf(HasSubstr("'val/f1_macro' is no metric"),
                                                     HasSubstr("'val/loss_p99.5' is no metric"))));
  EXPECT_THAT(problems_of(recipe + "task: {metrics: [f1_macro, loss_p99.5]}\n"), IsEmpty());
}

TEST(RecipeCheck, ClassesAreCountedOnceThereAreData) {
  const std::string recipe = "data: {path: /data}\nloss: {class_weights: [1, 2]}\n";
  EXPECT_THAT(problems_of(recipe), IsEmpty()) << "the model will have as many as the data";
}

TEST(RecipeCheck, ViewsOfASampleStayTogether) {
  const auto registries = make_registries();
  const auto task =
      make_task(recipe_of("loss: {name: jensen_shannon, num_views: 3}", *registries), *registries);
  const auto check = [&](std::int64_t global, int ranks, int accum, std::int64_t last) {
    check_views(*task, {global, ranks, accum, {}}, last);
  };
  check(24, 2, 4, 0);
  check(24, 2, 1, 6);
  for (const auto& [global, ranks, accum, last] :
       {std::tuple(24, 3, 1, 0), std::tuple(24, 2, 3, 0), std::tuple(25, 1, 1, 0),
        std::tuple(24, 2, 1, 9), std::tuple(12, 2, 1, 5)}) {
    EXPECT_THAT([&] { check(global, ranks, accum, last); },
                testing::ThrowsMessage<base::ConfigError>(HasSubstr("loss.num_views: 3")));
  }
  check_views(*make_task(recipe_of("", *registries), *registries), {25, 2, 3, {}}, 1);
}

/// Needs three samples in a microbatch.
class Needing final : public train::Algorithm {
 public:
  std::string_view name() const override { return "needing"; }
  train::AlgorithmTraits traits() const override { return {.events = {}, .least_samples = 3}; }
  void apply(train::Event, train::TrainState&, const train::RunContext&) override {}
};

TEST(RecipeCheck, MicrobatchesHoldWhatAlgorithmsNeed) {
  std::vector<std::unique_ptr<train::Algorithm>> algorithms;
  algorithms.push_back(std::make_unique<Needing>());
  const auto check = [&](std::int64_t global, int ranks, int accum, std::int64_t last) {
    check_least_samples(algorithms, {global, ranks, accum, {}}, last);
  };
  check(24, 2, 4, 0);
  check(24, 2, 1, 6);
  for (const auto& [global, ranks, accum, last] :
       {std::tuple(4, 2, 1, 0), std::tuple(24, 2, 6, 0), std::tuple(20, 2, 3, 0),
        std::tuple(5, 2, 1, 0)}) {
    EXPECT_THAT(
        [&] { check(global, ranks, accum, last); },
        testing::ThrowsMessage<base::ConfigError>(AllOf(
            HasSubstr("algorithms.needing: it needs 3 samples"), Not(HasSubstr("drop_last")))));
  }
  EXPECT_THAT([&] { check(24, 2, 1, 5); },
              testing::ThrowsMessage<base::ConfigError>(HasSubstr("data.drop_last=true")));
  check(24, 4, 1, 0);
  algorithms.clear();
  check(1, 1, 1, 0);
}

/// Logs values of its own under a name.
class Logging final : public train::Callback {
 public:
  Logging(std::string name, std::vector<std::string_view> scalars)
      : name_(std::move(name)), scalars_(std::move(scalars)) {}
  std::string_view name() const override { return name_; }
  train::CallbackTraits traits() const override { return {.events = {}, .step_scalars = scalars_}; }
  std::optional<std::string> on_event(train::Event, const train::TrainState&,
                                      const train::RunContext&) override {
    return std::nullopt;
  }

 private:
  std::string name_;
  std::vector<std::string_view> scalars_;
};

TEST(RecipeCheck, WhatACallbackLogsHasANameOfItsOwn) {
  const auto check = [](const std::string& name, std::vector<std::string_view> scalars) {
    const auto registries = make_registries();
    std::vector<std::unique_ptr<train::Algorithm>> algorithms;
    Recipe recipe = recipe_of("algorithms: {mixup: }", *registries);
    recipe.checkpoint.keep_best = 0;
    algorithms.push_back(registries->algorithms.build(recipe.algorithms.begin()->second));
    std::vector<std::unique_ptr<train::Callback>> callbacks;
    callbacks.push_back(std::make_unique<Logging>(name, std::move(scalars)));
    check_metric_names(recipe, true, *make_task(recipe, *registries), algorithms, callbacks);
  };
  check("watcher", {"loss", "norm"});
  check("train", {});
  for (const char* name : {"train", "val", "val_ema", "time", "mixup"}) {
    EXPECT_THAT([&] { check(name, {"loss"}); },
                testing::ThrowsMessage<base::ConfigError>(HasSubstr(
                    fmt::format("callbacks.{0}: what it logs would stand at {0}/loss", name))));
  }
  EXPECT_THAT(
      [&] {
        check("watcher", {"loss", "loss"});
      },
      testing::ThrowsMessage<base::ConfigError>(HasSubstr("stands there twice")));
}

TEST(RecipeCheck, WhatIsNotEvaluatedCannotBeLookedAt) {
  const std::string quiet = "data: {path: /data, eval_transforms: [center_crop, normalize]}\n";
  EXPECT_THAT(problems_of(quiet + "train: {eval_every: null}"), IsEmpty());
  EXPECT_THAT(problems_of(quiet + "train: {eval_every: null, stop_when: val/top1 > 0.5}\n"
                                  "callbacks: {early_stop: {}}"),
              ElementsAre(AllOf(HasSubstr("train.stop_when: 'val/top1' is a metric of the "
                                          "evaluation, and this run has none"),
                                HasSubstr("callbacks.early_stop.monitor"))));
}

TEST(RecipeCheck, MixingAlgorithmsThatDoNotGoTogether) {
  const std::string data =
      "data: {name: synthetic, eval_transforms: [normalize]}\ncheckpoint: {keep_best: 0}\n";
  EXPECT_THAT(problems_of(data + "algorithms: {mixup: , cutmix: , cutout: , colout: }"), IsEmpty());
  EXPECT_THAT(problems_of(data + "algorithms: {mixup: {group: 2}, cutmix: }"),
              ElementsAre(HasSubstr("algorithms.cutmix.group: cutmix and mixup take turns")));
  EXPECT_THAT(problems_of(data + "algorithms: {mixup: {interpolate_loss: true},\n"
                                 "  cutmix: {with_mixup: sequential}}"),
              ElementsAre(HasSubstr("algorithms.mixup.interpolate_loss: the targets")));
  EXPECT_THAT(problems_of(data + "algorithms: {mixup: {interpolate_loss: true},\n"
                                 "  cutmix: {interpolate_loss: true}}"),
              ElementsAre(HasSubstr("both replace the loss")));
}

TEST(RecipeCheck, OptionsOfWhatTransformsBatches) {
  const auto registries = make_registries();
  const auto told_of = [&](const std::string& algorithm) {
    try {
      recipe_of("algorithms: {" + algorithm + "}", *registries);
    } catch (const base::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(told_of("cutmix: {alpha: 0, group: 4}, cutout: {length: 1}, colout: {p_row: 0}"), "");
  EXPECT_THAT(told_of("cutmix: {alpha: -1}"), HasSubstr("cutmix.alpha: must be at least 0"));
  EXPECT_THAT(told_of("cutmix: {group: 0}"), HasSubstr("cutmix.group: must be at least 1"));
  EXPECT_THAT(told_of("cutmix: {with_mixup: never}"), HasSubstr("cutmix.with_mixup"));
  EXPECT_THAT(told_of("cutmix: {interpolate_loss: true, group: 4}"),
              HasSubstr("cutmix.interpolate_loss"));
  EXPECT_THAT(told_of("cutout: {length: 0}"), HasSubstr("cutout.length: must be more than 0"));
  EXPECT_THAT(told_of("cutout: {length: 1.1}"), HasSubstr("cutout.length: must be at most 1"));
  EXPECT_THAT(told_of("cutout: {num_holes: 0}"), HasSubstr("cutout.num_holes: must be at least 1"));
  EXPECT_THAT(told_of("colout: {p_row: 1}"), HasSubstr("colout.p_row: must be less than 1"));
  EXPECT_THAT(told_of("colout: {p_col: -0.1}"), HasSubstr("colout.p_col: must be at least 0"));
}

TEST(RecipeCheck, PartsOfTheNetwork) {
  EXPECT_THAT(problems_of("data: {path: /data}\n"
                          "model: {name: resnet18, freeze: [stem, 'layer[12]']}\n"
                          "optimizer: {lr_scale: {head: 10, '*.bias': 2}}"),
              IsEmpty());
  EXPECT_THAT(problems_of("data: {path: /data}\nmodel: {name: resnet18, freeze: [layr1]}"),
              ElementsAre(AllOf(HasSubstr("model.freeze: no parameter"),
                                HasSubstr("did you mean layer1?"))));
  EXPECT_THAT(problems_of("data: {path: /data}\noptimizer: {lr_scale: {haed: 10}}"),
              ElementsAre(AllOf(HasSubstr("optimizer.lr_scale: no parameter"),
                                HasSubstr("did you mean head?"))));
  EXPECT_THAT(problems_of("data: {path: /data}\nmodel: {freeze: ['*']}"),
              ElementsAre(HasSubstr("model.freeze: nothing of the network is left to train")));
}

TEST(RecipeCheck, ASizeThatTheNetworkDoesNotTake) {
  const std::string vit = "data: {path: /data, image_size: 64}\nmodel: {name: vit";
  EXPECT_THAT(problems_of(vit + "}"), ElementsAre(HasSubstr("model.img_size: this ViT takes images "
                                                            "of 224x224 pixels, got 64x64")));
  EXPECT_THAT(problems_of(vit + ", img_size: 64}"), IsEmpty());
}

TEST(RecipeCheck, WhatNoNumberOfImagesMends) {
  const auto with = [](const std::string& duration, const std::string& warmup) {
    return problems_of("data: {path: /data}\ntrain: {duration: " + duration +
                       "}\nschedule: {warmup: " + warmup + "}");
  };
  EXPECT_THAT(with("12h", "1ep"),
              ElementsAre(AllOf(HasSubstr("[90ep, 12h]"), HasSubstr("schedule=constant"))));
  EXPECT_THAT(with("[9ep, 12h]", "1ep"), IsEmpty());
  EXPECT_THAT(with("2ep", "5ep"), ElementsAre(HasSubstr("schedule.warmup: 5ep")));
  EXPECT_THAT(with("20ba", "30ba"),
              ElementsAre("schedule.warmup: 30ba are 30 optimizer steps, but the run has 20: "
                          "shorten it, or write it as a share of the run, such as 0.05dur"));
  EXPECT_THAT(with("2ep", "30ba"), IsEmpty());  // enough images would do
  EXPECT_THAT(with("20ba", "1ep"), IsEmpty());  // few would
  EXPECT_THAT(problems_of("data: {path: /data}\ntrain: {duration: 5000ba}\n"
                          "schedule: {name: one_cycle, warmup: 1ep}"),
              IsEmpty());  // neither too few nor too many
}

TEST(RecipeCheck, AMomentumThatMovesNeedsAnOptimizerThatHasOne) {
  const auto with = [](const std::string& optimizer) {
    return problems_of("data: {path: /data}\ntrain: {duration: 90ep}\noptimizer: " + optimizer +
                       "\nschedule: {name: one_cycle, max_momentum: 0.95}");
  };
  EXPECT_THAT(with("{name: sgd, momentum: 0}"),
              ElementsAre(HasSubstr("schedule.max_momentum: optimizer sgd has no momentum")));
  EXPECT_THAT(with("nadam"), ElementsAre(HasSubstr("optimizer nadam has no momentum")));
  for (const char* moved : {"sgd", "adam", "adamw", "nadamw", "radam", "lion",
                            "{name: rmsprop, momentum: 0.9}", "{name: rmsprop_tf, momentum: 0.9}"})
    EXPECT_THAT(with(moved), IsEmpty()) << moved;
}

TEST(RecipeCheck, APlateauNeedsItsMetric) {
  const std::string recipe = "data: {path: /data}\nalgorithms: {plateau: {monitor: val/los}}\n";
  EXPECT_THAT(problems_of(recipe),
              ElementsAre(AllOf(HasSubstr("algorithms.plateau.monitor: 'val/los' is no metric"),
                                HasSubstr("val/loss"))));
  EXPECT_THAT(problems_of("data: {path: /data}\nalgorithms: {plateau: }\n"), IsEmpty());
  EXPECT_THAT(
      problems_of("data: {path: /data}\nalgorithms: {plateau: }\ntrain: {eval_every: null}"),
      ElementsAre(HasSubstr("algorithms.plateau.monitor: 'val/loss' is a metric of the "
                            "evaluation, and this run has none")));
}

TEST(RecipeCheck, TheLargestLossIsNotTheBest) {
  for (const char* section : {"checkpoint: {monitor: val/loss, mode: max}",
                              "callbacks: {early_stop: {monitor: val/loss, mode: max}}"}) {
    EXPECT_THAT([&] { problems_of(std::string("data: {path: /data}\n") + section); },
                testing::ThrowsMessage<base::ConfigError>(HasSubstr("write min")))
        << section;
  }
  EXPECT_THAT(problems_of("data: {path: /data}\ncheckpoint: {monitor: val/loss, mode: min}"),
              IsEmpty());
  EXPECT_THAT(problems_of("data: {path: /data}\ncheckpoint: {monitor: val/loss}"), IsEmpty());
}

}  // namespace
}  // namespace paceline::app
