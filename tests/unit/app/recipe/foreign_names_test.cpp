#include "paceline/app/recipe/foreign_names.h"

#include "paceline/app/recipe/builtin.h"
#include "unit/config/test_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using config::Node;

const KnownForeignNames& names() {
  static const KnownForeignNames names(config::test::catalogs().algorithms);
  return names;
}

std::string option(std::string_view name, std::string_view value = "", int world_size = 0) {
  return names().option_advice(name, value, world_size).value_or("unknown");
}

std::optional<std::string> key_advice(std::string_view section, std::string_view key,
                                      const Node& value) {
  return names().key_advice(section, key, value, 0);
}

TEST(ForeignNames, AnswersOptions) {
  EXPECT_EQ(option("--epochs", "90"), "write train.duration=90ep");
  EXPECT_EQ(option("--epochs=90"), "write train.duration=90ep");
  EXPECT_EQ(option("--epochs"), "write train.duration=VALUEep");
  EXPECT_EQ(option("--max_steps", "500"), "write train.duration=500ba");
  EXPECT_EQ(option("--deterministic"), "write run.deterministic=true");
  EXPECT_EQ(option("--seed", "--lr"), "write run.seed=VALUE");
  EXPECT_EQ(option("--grad-checkpointing"), "write train.activation_checkpointing.every=1");
  EXPECT_EQ(option("--sync-bn"), "write parallel.sync_batch_norm=true");
  EXPECT_EQ(option("--scheduler", "cosine"), "write schedule.name=cosine");
  EXPECT_EQ(option("--no-amp"), "write train.precision=fp32");
  EXPECT_EQ(option("--mixed_precision", "amp_bf16"), "write train.precision=bf16");
  EXPECT_EQ(option("--lr", "0.1"), "write optimizer.lr=0.1");
  EXPECT_EQ(option("--num-workers", "8"),
            "write data.num_threads=8 (threads per rank, there are no worker processes)");
  EXPECT_EQ(option("--devices", "4"), "write --nproc 4 (ranks per machine)");
  EXPECT_EQ(option("--num_nodes", "2"), "write --nnodes 2");
  EXPECT_EQ(option("--multi-gpu"), "write --nproc auto");
  EXPECT_EQ(option("--fast_dev_run"), "write --fast-dev-run");
  EXPECT_EQ(option("--local_rank", "0"), "the launcher gives every rank its number");
  EXPECT_EQ(option("--target-accuracy", "0.74"),
            "write train.stop_when='val/top1 >= 0.74' (a share between 0 and 1, not percent)");
  EXPECT_EQ(option("--use-mixup"), "write +algorithms.mixup");
  EXPECT_EQ(option("--no-mixup"), "write ~algorithms.mixup");
  EXPECT_EQ(option("--mixup-beta"), "unknown");
  EXPECT_EQ(option("--mixup-alpha", "0.4"), "write +algorithms.mixup.alpha=0.4");
  EXPECT_EQ(option("--frobnicate"), "unknown");
}

TEST(ForeignNames, ShowsBothReadingsOfABatchSize) {
  EXPECT_EQ(option("-b", "256"),
            "write data.global_batch_size=256 (samples per step over all ranks) or "
            "data.batch_size_per_rank=256 (samples per step on each rank)");
  EXPECT_EQ(option("--batch-size", "10", 4),
            "write data.global_batch_size=10 (10 samples per step, 2 or 3 on each of 4 ranks) or "
            "data.batch_size_per_rank=10 (10 on each of 4 ranks, 40 samples per step)");
  EXPECT_EQ(option("--batch_size", "many", 4),
            "write data.global_batch_size=N (samples per step over all ranks) or "
            "data.batch_size_per_rank=N (samples per step on each rank)");
}

TEST(ForeignNames, AKeyThatIsOursAlreadyGetsNoAdvice) {
  EXPECT_EQ(key_advice("optimizer", "lr", Node::scalar("1")), std::nullopt);
  EXPECT_EQ(key_advice("train", "lr", Node::scalar("1")), "write optimizer.lr=1");
  EXPECT_EQ(key_advice("", "trainer", Node::map()),
            "write train (the section of the training loop)");
}

TEST(ForeignNames, TranslatesValues) {
  EXPECT_EQ(names().translate("train.precision", "16-mixed"), "fp16");
  EXPECT_EQ(names().translate("train.precision", "32"), "fp32");
  EXPECT_EQ(names().translate("parallel.strategy", "ddp_spawn"), "ddp");
  EXPECT_EQ(names().translate("train.precision", "bf16"), std::nullopt);
  EXPECT_EQ(names().translate("run.name", "32"), std::nullopt);
  EXPECT_EQ(names().translate("train.eval_every", "never"), "null");
}

TEST(ForeignNames, AnswersByTheValue) {
  EXPECT_EQ(option("--val-split", "0.2"), "write data.val_share=0.2");
  EXPECT_EQ(option("--val-split", "validation"),
            "write data.val_folder=validation (data.val_share=0.1 holds out a tenth of the "
            "training samples)");
  EXPECT_EQ(option("--val_check_interval", "0.5"), "write train.eval_every=0.5ep");
  EXPECT_EQ(option("--val_check_interval", "1000"), "write train.eval_every=1000ba");
  EXPECT_EQ(option("--val_check_interval", "1.0"), "write train.eval_every=1.0ep");
  EXPECT_EQ(option("--limit_val_batches", "0"),
            "write train.eval_every=null (no evaluation at all)");
  EXPECT_EQ(option("--gradient_clip_val", "0"), "write train.grad_clip_norm=null");
  EXPECT_EQ(option("--gradient_clip_val", "1.0"), "write train.grad_clip_norm=1.0");
  EXPECT_EQ(option("--dry_run"), "write --dry-run");
  EXPECT_EQ(option("--run_dir", "x"), "write --run-dir x");
  Node section = Node::map();
  section.set("lr", Node::scalar("1"));
  EXPECT_EQ(key_advice("", "optim", section),
            "write optimizer (the section is called so); lr: write optimizer.lr=1");
  EXPECT_EQ(key_advice("", "optim", Node::scalar("adamw")), "write optimizer.name=adamw");
}

TEST(ForeignNames, WordsThatWouldLeadAstrayLeadElsewhere) {
  EXPECT_THAT(option("--num_workers", "0"), ::testing::HasSubstr("leave it out"));
  EXPECT_EQ(option("--lr-scheduler", "cosineannealinglr"), "write schedule.name=cosine");
  EXPECT_EQ(option("--lr-scheduler", "StepLR"), "write schedule.name=step");
  EXPECT_EQ(option("--ckpt_path", "last"), "write --resume auto --run-dir RUN");
  EXPECT_THAT(option("-m", "optimizer.lr=0.1,0.2"), ::testing::HasSubstr("paceline sweep RECIPE"));
  EXPECT_THAT(option("--lr", "0.1,0.2"), ::testing::HasSubstr("paceline sweep RECIPE"));
  EXPECT_EQ(option("--devices", "0,1"), "write --nproc 0,1 (ranks per machine)");
  EXPECT_EQ(option("--milestones", "30,60"), "unknown");
  EXPECT_EQ(option("-m", "resnet50"), "write model.name=resnet50");
  EXPECT_EQ(option("--amp-dtype", "bfloat16"), "write train.precision=bf16");
  Node trainer = Node::map();
  trainer.set("max_epochs", Node::scalar("3"));
  EXPECT_EQ(key_advice("", "trainer", trainer),
            "write train (the section of the training loop); max_epochs: write train.duration=3ep");
}

TEST(ForeignNames, AnAlgorithmThatIsThereComesFirst) {
  EXPECT_EQ(option("--mixup"), "write +algorithms.mixup");
  const config::Registry<int> none{"algorithms"};
  EXPECT_EQ(KnownForeignNames(none).option_advice("--mixup", ""), std::nullopt);
}

TEST(ForeignNames, KeepTheirValue) {
  EXPECT_EQ(option("--mixup", "0.2"),
            "write '+algorithms.mixup={alpha: 0.2, fold: false, partner: reversed}'");
  EXPECT_EQ(option("--mixup=1"),
            "write '+algorithms.mixup={alpha: 1, fold: false, partner: reversed}'");
  EXPECT_EQ(option("--mixup", "0.0"), "leave it out: without algorithms.mixup nothing is mixed");
  EXPECT_EQ(option("--mixup", "true"), "write +algorithms.mixup");
  EXPECT_EQ(key_advice("", "mixup", Node::scalar("0.2")), option("--mixup", "0.2"));
  EXPECT_EQ(option("--cutmix", "1.0"),
            "write '+algorithms.cutmix={alpha: 1.0, partner: reversed}'");
  EXPECT_EQ(option("--cutmix", "0"), "leave it out: without algorithms.cutmix nothing is pasted");
  EXPECT_EQ(option("--ema", "0.999"), "write ++algorithms.ema.smoothing=0.999");
  EXPECT_EQ(option("--model-ema-decay", "0.9999"), "write ++algorithms.ema.smoothing=0.9999");
  EXPECT_EQ(option("--reprob", "0.25"),
            "data.train_transforms takes {name: random_erasing, p: 0.25} as its last one");
  EXPECT_EQ(option("--drop-path", "0.1"), "write model.drop_path_rate=0.1");
  EXPECT_EQ(option("--in-chans", "1"), "write model.in_channels=1");
  EXPECT_EQ(option("--lr-step-size", "30"), "write schedule=step schedule.every=30ep");
  EXPECT_EQ(option("--opt-eps"),
            "write optimizer.eps=VALUE, which Adam, RMSprop and their kin have");
  EXPECT_EQ(option("--eval-interval", "500"),
            "write train.eval_every=500ep (epochs; ba instead of ep counts steps)");
  EXPECT_EQ(option("--eval-interval", "1ep"), "write train.eval_every=1ep");
}

TEST(ForeignNames, AlgorithmsAndTheirOptionsAreKnownByName) {
  const auto registries = make_registries();
  const KnownForeignNames all(registries->algorithms);
  EXPECT_EQ(all.option_advice("--cutmix-alpha", "0.5"), "write +algorithms.cutmix.alpha=0.5");
  EXPECT_EQ(all.option_advice("--no-cutmix", ""), "write ~algorithms.cutmix");
  EXPECT_EQ(all.option_advice("--sam", "0.1"), "write +algorithms.sam.rho=0.1");
  EXPECT_EQ(all.option_advice("--sam", "true"), "write +algorithms.sam");
  EXPECT_EQ(all.option_advice("--blurpool", "1"), "write +algorithms.blurpool");
}

TEST(ForeignNames, ASecretGetsNoPlace) {
  EXPECT_EQ(option("--hf-token", "sesame"),
            "secrets come from the environment or the tool's own credential file, never from "
            "options or recipes");
}

}  // namespace
}  // namespace paceline::app
