#pragma once

#include "paceline/app/recipe/builtin.h"

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

// What the tests of methods that train together know of each of them.

namespace paceline::test {

/// A small residual network with BatchNorms, in steps of two microbatches. An epoch has 7 steps, so
/// that step 10 lies in the middle of one.
constexpr const char* kRecipeOfMethods = R"(
run:        {seed: 3}
model:      {name: resnet18, layers: [1, 1, 1], width: 8}
data:       {name: synthetic, num_samples: 56, num_val_samples: 4, num_classes: 5, size: 32,
             image_size: 32, global_batch_size: 8, num_threads: 1}
train:      {duration: 20ba, eval_every: 5ba, grad_accum_steps: 2, channels_last: false}
optimizer:  {name: sgd, lr: 0.05, momentum: 0.9}
checkpoint: {every: 10ba, check_replicas: 10ba, keep_best: 0, async: false}
loggers:    {}
)";

using Overrides = std::vector<std::string>;

/// The least settings with which a method does something within a few steps of that recipe.
struct MethodSettings {
  Overrides recipe = {};       ///< with {folder} in paths
  Overrides under_fsdp = {};   ///< besides, where the strategy is fsdp
  std::string transform = {};  ///< of training images
};

/// Every algorithm that is registered has its line here; those that are settings elsewhere are
/// added to the pairs by it.
inline const std::map<std::string, MethodSettings> kMethods{
    {"augmix", {.transform = "augmix"}},
    {"blurpool", {{"++algorithms.blurpool.min_channels=8"}}},
    {"channels_last", {{"train.channels_last=true"}}},
    {"colout", {{"++algorithms.colout"}}},
    {"cutmix", {{"++algorithms.cutmix"}}},
    {"cutout", {{"++algorithms.cutout"}}},
    {"distillation",
     {{"++algorithms.distillation.teacher={name: resnet18, layers: [1], width: 8, num_classes: 5}",
       "++algorithms.distillation.weights={folder}/teacher.safetensors"}}},
    {"ema", {{"++algorithms.ema={half_life: 4ba, evaluate: average}"}}},
    {"factorize",
     {{"++algorithms.factorize.min_channels=8", "++algorithms.factorize.min_features=5",
       "++algorithms.factorize.latent_features=2"}}},
    {"ghost_batchnorm", {{"++algorithms.ghost_batchnorm.ghost_batch_size=1"}}},
    {"grad_clip_adaptive", {{"++train.grad_clip_adaptive.threshold=0.01"}}},
    {"grad_clip_norm", {{"train.grad_clip_norm=0.5"}}},
    {"label_smoothing", {{"loss.label_smoothing=0.1"}}},
    // After the first epoch the stem and layer1 rest, after the second layer2 too: whole units of
    // fsdp, if the stem, which lies in one unit with the head, is never trained.
    {"layer_freezing",
     {{"++algorithms.layer_freezing.freeze_start=0.02"}, {"model.freeze=[stem]"}}},
    {"lookahead", {{"++algorithms.lookahead.interval=3ba"}}},
    {"mixup", {{"++algorithms.mixup"}}},
    {"plateau",  // each evaluation is none better
     {{"++algorithms.plateau.patience=0", "++algorithms.plateau.threshold=0.999",
       "++algorithms.plateau.factor=0.5"}}},
    {"progressive_resizing",
     {{"data.progressive_resizing.start_size=24", "data.progressive_resizing.increment=4",
       "data.progressive_resizing.begin=4ba", "data.progressive_resizing.end=16ba"}}},
    {"rand_augment", {.transform = "rand_augment"}},
    {"sam", {{"++algorithms.sam"}, {"++algorithms.sam.ascent=global"}}},
    {"selective_backprop",
     {{"++algorithms.selective_backprop.start=0", "++algorithms.selective_backprop.end=1"}}},
    {"squeeze_excite",
     {{"++algorithms.squeeze_excite.latent_channels=0.5",
       "++algorithms.squeeze_excite.min_channels=8"}}},
    {"stochastic_depth",
     {{"++algorithms.stochastic_depth.drop_rate=0.5", "++algorithms.stochastic_depth.warmup=4ba"}}},
    {"swa",  // averages at step 10, and trains on with the average and statistics of its own
     {{"++algorithms.swa.start=4ba", "++algorithms.swa.end=16ba",
       "++algorithms.swa.interval=2ba"}}},
};

/// All of the table and all algorithms that are registered.
inline std::set<std::string> methods(const app::Registries& registries) {
  std::set<std::string> names;
  for (const auto& [name, settings] : kMethods) names.insert(name);
  for (const auto& [name, entry] : registries.algorithms.entries()) names.insert(name);
  return names;
}

/// What puts methods into the recipe. One that the table lacks has its usual settings.
inline Overrides overrides_of(const std::vector<std::string>& names, const std::string& strategy) {
  Overrides all{"parallel.strategy=" + strategy};
  std::string transforms = "{name: random_resized_crop, size: 32}";
  for (const std::string& name : names) {
    const auto found = kMethods.find(name);
    const MethodSettings settings =
        found == kMethods.end() ? MethodSettings{{"++algorithms." + name}} : found->second;
    all.insert(all.end(), settings.recipe.begin(), settings.recipe.end());
    if (strategy == "fsdp")
      all.insert(all.end(), settings.under_fsdp.begin(), settings.under_fsdp.end());
    if (!settings.transform.empty()) transforms += ", " + settings.transform;
  }
  all.push_back("data.train_transforms=[" + transforms + "]");
  return all;
}

}  // namespace paceline::test
