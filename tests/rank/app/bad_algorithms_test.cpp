#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What is wrong with algorithms is told before the first step, by one error that names the place,
// the key and what is wrong.

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// `algorithms` as it stands in the ninth line of a recipe, and what the error must say. `changes`
/// are overrides of the recipe around it.
struct BadAlgorithms {
  std::string algorithms;
  std::vector<std::string> told;
  std::vector<std::string> changes = {};
};

constexpr const char* kRecipeAroundBad = R"(# A network with residual blocks and BatchNorms.
run:        {seed: 3}
model:      {name: resnet18, layers: [1, 1], width: 16}
data:       {name: synthetic, num_samples: 16, num_val_samples: 4, num_classes: 5, size: 32,
             image_size: 32, global_batch_size: 8, num_threads: 1, drop_last: true}
train:      {duration: 4ep}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: null}
algorithms: )";

const std::vector<std::string> kTinyVitInstead{
    "model=vit",           "+model.img_size=32", "+model.patch_size=16",
    "+model.embed_dim=16", "+model.depth=1",     "+model.num_heads=2"};

std::vector<std::string> and_more(std::vector<std::string> changes, const char* more) {
  changes.emplace_back(more);
  return changes;
}

const std::string kNinthLine = "recipe.yaml:9";

const std::vector<BadAlgorithms> kBad{
    // Names.
    {"{mixpu: }", {kNinthLine, "mixpu", "mixup"}},
    {"{label_smoothing: {smoothing: 0.1}}",
     {kNinthLine, "label_smoothing", "loss.label_smoothing"}},
    {"{progressive_resizing: }", {kNinthLine, "progressive_resizing", "data.progressive_resizing"}},
    {"{randaugment: }", {kNinthLine, "randaugment", "name: rand_augment, family: composer"}},
    {"{augmix: }", {kNinthLine, "augmix", "name: augmix, family: composer"}},
    {"{gradient_clipping: {clipping_type: norm}}",
     {kNinthLine, "gradient_clipping", "train.grad_clip"}},
    {"mixup", {kNinthLine, "algorithms", "mixup"}},
    {"{mixup: {alfa: 0.2}}", {kNinthLine, "alfa", "alpha"}},
    {"{mixup: 0.2}", {kNinthLine, "algorithms.mixup", "0.2"}},
    // blurpool
    {"{blurpool: {min_channels: 0}}", {kNinthLine, "blurpool.min_channels", "0", "at least 1"}},
    {"{blurpool: {min_channels: 1.5}}", {kNinthLine, "blurpool.min_channels", "1.5"}},
    {"{blurpool: {min_channels: many}}", {kNinthLine, "blurpool.min_channels", "many"}},
    {"{blurpool: {replace_convs: maybe}}", {kNinthLine, "blurpool.replace_convs", "maybe"}},
    {"{blurpool: {replace_convs: false, replace_maxpools: false}}",
     {kNinthLine, "replace_maxpools"}},
    {"{blurpool: }", {"algorithms.blurpool", "no layer to blur", "resnet50"}, kTinyVitInstead},
    // colout
    {"{colout: {p_row: -0.1}}", {kNinthLine, "colout.p_row", "-0.1", "at least 0"}},
    {"{colout: {p_row: 1}}", {kNinthLine, "colout.p_row", "less than 1"}},
    {"{colout: {p_col: 1.2}}", {kNinthLine, "colout.p_col", "1.2"}},
    {"{colout: {p_col: 0.15ep}}", {kNinthLine, "colout.p_col", "0.15ep"}},
    {"{colout: {group: 0}}", {kNinthLine, "colout.group", "at least 1"}},
    // cutmix
    {"{cutmix: {alpha: -1}}", {kNinthLine, "cutmix.alpha", "-1"}},
    {"{cutmix: {alpha: .inf}}", {kNinthLine, "cutmix.alpha"}},
    {"{cutmix: {partner: random}}", {kNinthLine, "cutmix.partner", "random", "permutation"}},
    {"{cutmix: {with_mixup: both}}", {kNinthLine, "cutmix.with_mixup", "both", "switch"}},
    {"{cutmix: {group: 0}}", {kNinthLine, "cutmix.group"}},
    {"{cutmix: {uniform_sampling: 2}}", {kNinthLine, "cutmix.uniform_sampling", "2"}},
    {"{cutmix: {interpolate_loss: true, group: 2}}",
     {kNinthLine, "cutmix.interpolate_loss", "group"}},
    {"{cutmix: {interpolate_loss: true}, mixup: {interpolate_loss: true}}",
     {"both replace the loss", "mixup", "cutmix"}},
    // cutout
    {"{cutout: {num_holes: 0}}", {kNinthLine, "cutout.num_holes", "at least 1"}},
    {"{cutout: {num_holes: 1001}}", {kNinthLine, "cutout.num_holes", "1001"}},
    {"{cutout: {num_holes: 1.5}}", {kNinthLine, "cutout.num_holes", "1.5"}},
    {"{cutout: {length: 0}}", {kNinthLine, "cutout.length", "more than 0"}},
    {"{cutout: {length: 1.5}}", {kNinthLine, "cutout.length", "1.5"}},
    {"{cutout: {group: -1}}", {kNinthLine, "cutout.group", "-1"}},
    // distillation
    {"{distillation: {weights: x}}", {kNinthLine, "distillation.teacher", "is missing"}},
    {"{distillation: {teacher: {name: resnet20}}}", {kNinthLine, "distillation", "weights"}},
    {"{distillation: {teacher: {name: resnet7}, weights: x}}", {kNinthLine, "resnet7"}},
    {"{distillation: {teacher: {name: resnet20}, weights: x, alpha: 1.5}}",
     {kNinthLine, "distillation.alpha", "1.5"}},
    {"{distillation: {teacher: {name: resnet20}, weights: x, temperature: 0}}",
     {kNinthLine, "distillation.temperature"}},
    {"{distillation: {teacher: {name: resnet20}, weights: x, targets: both}}",
     {kNinthLine, "distillation.targets", "both", "soft"}},
    // ema
    {"{ema: {half_life: 10s}}", {"algorithms.ema.half_life", "10s", "100ba"}},
    {"{ema: {half_life: 0.5dur}}", {"algorithms.ema.half_life", "0.5dur", "100ba"}},
    {"{ema: {half_life: 0ba}}", {"algorithms.ema.half_life", "0ba"}},
    {"{ema: {half_life: soon}}", {kNinthLine, "ema.half_life", "soon"}},
    {"{ema: {update_interval: 1.5ba}}", {kNinthLine, "ema.update_interval", "1.5ba"}},
    {"{ema: {half_life: 100ba, update_interval: 1ep}}", {"ema.half_life", "100ba", "1ep"}},
    {"{ema: {smoothing: 1.5}}", {kNinthLine, "ema.smoothing", "1.5"}},
    {"{ema: {smoothing: -0.1}}", {kNinthLine, "ema.smoothing", "-0.1"}},
    {"{ema: {smoothing: 0.9, half_life: 10ba}}", {kNinthLine, "ema.smoothing", "half_life"}},
    {"{ema: {rescale: torchvision}}", {kNinthLine, "ema.rescale", "smoothing"}},
    {"{ema: {rescale: lightning}}", {kNinthLine, "ema.rescale", "lightning", "torchvision"}},
    {"{ema: {warmup_power: 0}}", {kNinthLine, "ema.warmup_power"}},
    {"{ema: {warmup_gamma: 0}}", {kNinthLine, "ema.warmup_gamma"}},
    {"{ema: {evaluate: trained}}", {kNinthLine, "ema.evaluate", "trained", "average"}},
    {"{ema: {evaluate: average}, swa: {evaluate: average}}",
     {"'ema'", "'swa'", "evaluate: average", "keep one"}},
    {"{ema: {evaluate: average}}",
     {"train.stop_when", "val_ema/top1", "expected one of val/loss"},
     {"train.stop_when=val_ema/top1 > 0.5"}},
    // factorize
    {"{factorize: {factorize_convs: false, factorize_linears: false}}",
     {kNinthLine, "factorize_linears", "nothing is left"}},
    {"{factorize: {factorize_convs: maybe}}", {kNinthLine, "factorize_convs", "maybe"}},
    {"{factorize: {min_channels: 0}}", {kNinthLine, "factorize.min_channels", "at least 1"}},
    {"{factorize: {min_features: 1.5}}", {kNinthLine, "factorize.min_features", "1.5"}},
    {"{factorize: {latent_channels: 0}}", {kNinthLine, "latent_channels", "more than 0"}},
    {"{factorize: {latent_channels: 1.5}}", {kNinthLine, "latent_channels", "whole number"}},
    {"{factorize: {latent_features: 2.5}}", {kNinthLine, "latent_features", "whole number"}},
    {"{factorize: {latent_features: few}}", {kNinthLine, "latent_features", "few"}},
    {"{factorize: {init: lstsq}}", {kNinthLine, "factorize.init", "lstsq", "svd"}},
    {"{factorize: }", {"algorithms.factorize", "min_channels 256", "resnet50"}},
    {"{factorize: {min_channels: 16, latent_channels: 30}}",
     {"algorithms.factorize", "latent_channels 30"}},
    // ghost_batchnorm
    {"{ghost_batchnorm: {ghost_batch_size: 0}}", {kNinthLine, "ghost_batch_size", "at least 1"}},
    {"{ghost_batchnorm: {ghost_batch_size: -4}}", {kNinthLine, "ghost_batch_size", "-4"}},
    {"{ghost_batchnorm: {ghost_batch_size: 9}}", {"algorithms.ghost_batchnorm", "9 samples"}},
    {"{ghost_batchnorm: {ghost_batch_size: 4}}",
     {"ghost_batchnorm", "no BatchNorm"},
     kTinyVitInstead},
    {"{ghost_batchnorm: {ghost_batch_size: 4}}",
     {"ghost_batchnorm", "4 samples in each microbatch"},
     {"train.grad_accum_steps=4"}},
    // layer_freezing
    {"{layer_freezing: {freeze_start: 1}}", {kNinthLine, "freeze_start", "less than 1"}},
    {"{layer_freezing: {freeze_start: -0.1}}", {kNinthLine, "freeze_start", "-0.1"}},
    {"{layer_freezing: {freeze_level: 0}}", {kNinthLine, "freeze_level", "more than 0"}},
    {"{layer_freezing: {freeze_level: 1.1}}", {kNinthLine, "freeze_level", "1.1"}},
    {"{layer_freezing: {parts: [stem]}}", {kNinthLine, "layer_freezing.after", "give both"}},
    {"{layer_freezing: {after: 1ep}}", {kNinthLine, "layer_freezing.after", "give both"}},
    {"{layer_freezing: {parts: [layr1], after: 1ep}}",
     {"algorithms.layer_freezing.parts", "'layr1'", "did you mean layer1?"}},
    {"{layer_freezing: {parts: [stem], after: 4ep}}",
     {"algorithms.layer_freezing", "after (4ep)", "the last of 8 steps"}},
    // lookahead
    {"{lookahead: {decay: 1.5}}", {kNinthLine, "lookahead.decay", "1.5"}},
    {"{lookahead: {interval: 0ba}}", {kNinthLine, "lookahead.interval", "more than 0"}},
    {"{lookahead: {interval: 1ep}}", {"algorithms.lookahead.interval is 1ep", "5ba"}},
    {"{lookahead: {decay_power: -1}}", {kNinthLine, "lookahead.decay_power", "-1"}},
    {"{lookahead: {decay_power: 2}}",
     {"algorithms.lookahead.decay_power", "train.duration"},
     {"train.duration=10s", "schedule=constant"}},
    // mixup
    {"{mixup: {alpha: -0.2}}", {kNinthLine, "mixup.alpha", "-0.2", "at least 0"}},
    {"{mixup: {alpha: .nan}}", {kNinthLine, "mixup.alpha"}},
    {"{mixup: {partner: any}}", {kNinthLine, "mixup.partner", "any", "rolled"}},
    {"{mixup: {fold: 2}}", {kNinthLine, "mixup.fold", "2"}},
    {"{mixup: {group: 0}}", {kNinthLine, "mixup.group"}},
    {"{mixup: {interpolate_loss: true, group: 2}}", {kNinthLine, "mixup.interpolate_loss"}},
    // plateau
    {"{plateau: {factor: 1}}", {kNinthLine, "plateau.factor", "less than 1"}},
    {"{plateau: {factor: -1}}", {kNinthLine, "plateau.factor", "-1"}},
    {"{plateau: {patience: -1}}", {kNinthLine, "plateau.patience", "-1"}},
    {"{plateau: {threshold: -1}}", {kNinthLine, "plateau.threshold", "-1"}},
    {"{plateau: {threshold_kind: percent}}", {kNinthLine, "threshold_kind", "percent", "rel"}},
    {"{plateau: {mode: best}}", {kNinthLine, "plateau.mode", "best"}},
    {"{plateau: {min_factor: 2}}", {kNinthLine, "plateau.min_factor", "2"}},
    {"{plateau: {cooldown: -1}}", {kNinthLine, "plateau.cooldown", "-1"}},
    {"{plateau: {monitor: val/nothing}}", {"plateau.monitor", "val/nothing", "val/top1"}},
    {"{plateau: }", {"plateau.monitor", "evaluation"}, {"train.eval_every=null"}},
    // sam
    {"{sam: {rho: -1}}", {kNinthLine, "sam.rho", "-1"}},
    {"{sam: {epsilon: -1}}", {kNinthLine, "sam.epsilon", "-1"}},
    {"{sam: {epsilon: 2}}", {kNinthLine, "sam.epsilon", "2"}},
    {"{sam: {interval: 0}}", {kNinthLine, "sam.interval", "at least 1"}},
    {"{sam: {ascent: both}}", {kNinthLine, "sam.ascent", "both", "global"}},
    // selective_backprop
    {"{selective_backprop: {start: -0.1}}", {kNinthLine, "selective_backprop.start", "-0.1"}},
    {"{selective_backprop: {end: 1.1}}", {kNinthLine, "selective_backprop.end", "1.1"}},
    {"{selective_backprop: {start: 0.9, end: 0.5}}",
     {kNinthLine, "selective_backprop.end", "start"}},
    {"{selective_backprop: {keep: 0}}", {kNinthLine, "selective_backprop.keep", "more than 0"}},
    {"{selective_backprop: {keep: 1.5}}", {kNinthLine, "selective_backprop.keep", "1.5"}},
    {"{selective_backprop: {scale_factor: 0}}", {kNinthLine, "scale_factor", "more than 0"}},
    {"{selective_backprop: {scale_factor: 1.5}}", {kNinthLine, "scale_factor", "1.5"}},
    {"{selective_backprop: {interrupt: 1}}", {kNinthLine, "interrupt", "all samples"}},
    {"{selective_backprop: {interrupt: -1}}", {kNinthLine, "interrupt", "-1"}},
    {"{selective_backprop: }",
     {"algorithms.selective_backprop", "several views"},
     {"loss=jensen_shannon", "loss.num_views=2", "data.sampler=repeated_augmentation",
      "++data.sampler.repeats=2"}},
    {"{selective_backprop: }",
     {"algorithms.selective_backprop", "not known in steps"},
     {"train.duration=30s", "schedule=constant"}},
    // squeeze_excite
    {"{squeeze_excite: {latent_channels: 0}}", {kNinthLine, "latent_channels", "more than 0"}},
    {"{squeeze_excite: {latent_channels: 1.5}}", {kNinthLine, "latent_channels", "whole number"}},
    {"{squeeze_excite: {min_channels: 0}}", {kNinthLine, "squeeze_excite.min_channels"}},
    {"{squeeze_excite: }", {"algorithms.squeeze_excite", "128", "min_channels"}},
    {"{squeeze_excite: {latent_channels: 0.001, min_channels: 16}}",
     {"squeeze_excite.latent_channels", "0.001", "none of the"}},
    // stochastic_depth
    {"{stochastic_depth: {drop_rate: 0}}", {kNinthLine, "drop_rate", "more than 0"}},
    {"{stochastic_depth: {drop_rate: 1.1}}", {kNinthLine, "drop_rate", "1.1"}},
    {"{stochastic_depth: {method: layer}}", {kNinthLine, "method", "layer", "block"}},
    {"{stochastic_depth: {distribution: cosine}}",
     {kNinthLine, "distribution", "cosine", "linear"}},
    {"{stochastic_depth: {rescale: both}}", {kNinthLine, "rescale", "both", "timm"}},
    {"{stochastic_depth: {warmup: 3s}}", {kNinthLine, "warmup", "wall-clock"}},
    {"{stochastic_depth: {method: sample, group: 2}}", {kNinthLine, "group", "method: sample"}},
    {"{stochastic_depth: }",
     {"algorithms.stochastic_depth", "model.drop_path_rate"},
     {"+model.drop_path_rate=0.1"}},
    // swa
    {"{swa: {start: 0.9dur, end: 0.5dur}}", {kNinthLine, "swa.end", "start"}},
    {"{swa: {start: 0.7dur, end: 0.7dur}}", {kNinthLine, "swa.end", "start"}},
    {"{swa: {interval: 10s}}", {"algorithms.swa.interval", "10s"}},
    {"{swa: {interval: 0.5dur}}", {"algorithms.swa.interval", "0.5dur"}},
    {"{swa: {interval: 0ba}}", {"algorithms.swa.interval", "0ba"}},
    {"{swa: {evaluate: mean}}", {kNinthLine, "swa.evaluate", "mean", "both"}},
    {"{swa: {end: 1000ba}}", {"algorithms.swa", "1000ba", "the run has 8"}},
    // Settings elsewhere that are part of it.
    {"{}",
     {"grad_clip_adaptive", "grad_clip_norm"},
     {"train.grad_clip_norm=1", "++train.grad_clip_adaptive.threshold=0.01"}},
    {"{}", {"grad_clip_adaptive.threshold", "-1"}, {"++train.grad_clip_adaptive.threshold=-1"}},
    {"{}",
     {"progressive_resizing.mode", "bilinear", "loader, nearest, crop"},
     {"data.progressive_resizing={start_size: 16, mode: bilinear}"}},
    {"{}",
     {"progressive_resizing.mode", "without start_size", "crop"},
     {"data.progressive_resizing={mode: crop}"}},
    {"{}",
     {"data.progressive_resizing.start_size is 32", "final size 32"},
     {"data.progressive_resizing={start_size: 32, mode: nearest}"}},
    {"{}",
     {"takes images of 32x32 pixels, got 16x16"},
     and_more(kTinyVitInstead, "data.progressive_resizing={start_size: 16, mode: crop}")},
    {"{}",
     {"data.progressive_resizing needs random_resized_crop"},
     {"data.progressive_resizing={start_size: 16}", "data.train_transforms=[normalize]"}},
};

class BadAlgorithmsTest : public ::testing::Test {
 protected:
  /// The error of a start that trains nothing; empty if there was none.
  std::string error_of(const BadAlgorithms& bad) {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kRecipeAroundBad + bad.algorithms + "\n");
    request.overrides = bad.changes;
    request.is_dry_run = true;
    const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
    try {
      paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
        run_training(request, {*registries_, communicator, files_, interruption_, 1});
      });
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }

 private:
  const std::unique_ptr<Registries> registries_ = make_registries();
  paceline::test::TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
};

TEST_F(BadAlgorithmsTest, AreToldBeforeTheFirstStep) {
  ASSERT_GE(kBad.size(), 100u);
  for (const BadAlgorithms& bad : kBad) {
    SCOPED_TRACE(bad.algorithms);
    const std::string error = error_of(bad);
    EXPECT_NE(error, "") << "nobody told it";
    for (const std::string& told : bad.told) EXPECT_THAT(error, HasSubstr(told));
    EXPECT_THAT(error, Not(HasSubstr("\n"))) << "one thing is wrong, so one line tells it";
  }
}

// Or the table would fail for another reason.
TEST_F(BadAlgorithmsTest, TheRecipeAroundThemIsSound) {
  EXPECT_EQ(error_of({"{mixup: }", {}}), "");
  EXPECT_EQ(error_of({"{mixup: }", {}, kTinyVitInstead}), "");
}

}  // namespace
}  // namespace paceline::app
