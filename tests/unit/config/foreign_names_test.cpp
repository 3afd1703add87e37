#include "paceline/config/foreign_names.h"

#include "paceline/base/error.h"
#include "unit/config/test_recipe.h"

#include <set>

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

std::string option(std::string_view name, std::string_view value = "", int world_size = 0) {
  return foreign_option_advice(name, value, &test::catalogs().algorithms, world_size)
      .value_or("unknown");
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
  EXPECT_EQ(foreign_key_advice("optimizer", "lr", Node::scalar("1"), nullptr, 0), std::nullopt);
  EXPECT_EQ(foreign_key_advice("train", "lr", Node::scalar("1"), nullptr, 0),
            "write optimizer.lr=1");
  EXPECT_EQ(foreign_key_advice("", "trainer", Node::map(), nullptr, 0),
            "write train (the section of the training loop)");
}

TEST(ForeignNames, TranslatesValues) {
  EXPECT_EQ(translate_value("train.precision", "16-mixed"), "fp16");
  EXPECT_EQ(translate_value("train.precision", "32"), "fp32");
  EXPECT_EQ(translate_value("parallel.strategy", "ddp_spawn"), "ddp");
  EXPECT_EQ(translate_value("train.precision", "bf16"), std::nullopt);
  EXPECT_EQ(translate_value("run.name", "32"), std::nullopt);
}

TEST(ForeignNames, ASecretIsRefusedAndNotRepeated) {
  EXPECT_EQ(option("--hf-token", "sesame"),
            "secrets come from the environment or the tool's own credential file, never from "
            "options or recipes");
  for (const char* name :
       {"token", "--hf-token", "aws.secret_access_key", "x.password", "wandb_api_key"}) {
    try {
      refuse_secret(name, "sesame");
      FAIL() << name;
    } catch (const base::ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("sesame"), std::string::npos);
    }
  }
  EXPECT_NO_THROW(refuse_secret("max_tokens", "12"));
  EXPECT_NO_THROW(refuse_secret("data.tokenizer", "bert"));
  EXPECT_THROW(refuse_secret("x", "ghp_0123456789abcdef"), base::ConfigError);
  EXPECT_NO_THROW(refuse_secret("x", "sk-short"));
}

TEST(ForeignNames, TheTableIsSound) {
  std::set<std::string_view> names;
  for (const ForeignName& entry : foreign_names()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " stands in the table twice";
    EXPECT_FALSE(entry.key.empty() && entry.remark.empty()) << entry.name << " has no answer";
    for (char c : entry.name)
      EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9')) << entry.name;
  }
}

}  // namespace
}  // namespace paceline::config
