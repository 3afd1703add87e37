#include "paceline/launcher/guide_flags.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::vector<std::string> words(const std::vector<std::string>& arguments) {
  return in_own_words(arguments).arguments;
}

void expect_refusal(const std::vector<std::string>& arguments, const std::string& problem) {
  EXPECT_THAT([&] { in_own_words(arguments); },
              ThrowsMessage<base::ConfigError>(HasSubstr(problem)));
}

TEST(GuideFlags, AcceleratesAreOurs) {
  const OwnWords own = in_own_words(std::vector<std::string>{
      "--multi_gpu", "--num_processes=4", "--mixed_precision=fp16", "--config", "c/multi.json",
      "--checkpoint_dir", "out", "--wandb", "--wandb_project", "p", "--seed", "7", "data.path=/x"});
  EXPECT_THAT(own.arguments, ElementsAre("c/multi.json", "train.precision=fp16", "--run-dir", "out",
                                         "run.seed=7", "data.path=/x", "--nproc", "4"));
  EXPECT_THAT(own.notes, ElementsAre(HasSubstr("--wandb: there is no W&B here")));
}

TEST(GuideFlags, TorchrunsAndTheScriptsAreOurs) {
  EXPECT_THAT(words({"c.json", "--nproc_per_node=2", "--nnodes=2", "--node_rank=0", "--resume_from",
                     "out/stage2_best.pt", "--mixed_precision", "no"}),
              ElementsAre("c.json", "--nproc_per_node=2", "--nnodes=2", "--node_rank=0", "--resume",
                          "out/stage2_best.pt", "train.precision=fp32"));
  EXPECT_THAT(words({"--config=c.json", "--method", "torchrun", "--tensorboard"}),
              ElementsAre("c.json", "--nproc", "auto"));
  EXPECT_THAT(words({"c.json", "--multi_gpu", "--nproc", "3"}),
              ElementsAre("c.json", "--nproc", "3"));
  EXPECT_THAT(
      words({"c.json", "--start_stage", "1", "--save_all_checkpoints", "--log_dir=tb"}),
      ElementsAre("c.json", "checkpoint.keep_last=1000000000", "loggers.tensorboard.directory=tb"));
  EXPECT_THAT(words({"c.json", "--start_stage=2", "--resume_from", "out/stage1_best.pt"}),
              ElementsAre("c.json", "--start-phase", "2", "--resume", "out/stage1_best.pt"));
}

TEST(GuideFlags, AccelerateCountsTheRanksOfAllMachines) {
  EXPECT_THAT(words({"c.json", "--num_processes", "8", "--num_machines", "2", "--machine_rank", "1",
                     "--main_process_ip", "a", "--main_process_port", "29500"}),
              ElementsAre("c.json", "--nnodes", "2", "--node-rank", "1", "--master-addr", "a",
                          "--master-port", "29500", "--nproc", "4"));
  expect_refusal({"c.json", "--num_processes=3", "--nnodes", "2"}, "write --nproc N");
}

TEST(GuideFlags, RecipesInYamlAreStartedInOurWordsAlone) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--config", "r.yaml", "--wandb"},
                                             {"r.yaml", "--seed", "3"},
                                             {"r.yaml", "--on-top", "c.json"},
                                             {"r.yaml", "data.path=c.json", "--multi_gpu"}}) {
    EXPECT_THAT(words(arguments), ElementsAreArray(arguments));
  }
  EXPECT_THAT(words({}), IsEmpty());
}

TEST(GuideFlags, WrongValuesAreRefused) {
  expect_refusal({"c.json", "--method", "mpi"}, "expected torchrun or accelerate");
  expect_refusal({"c.json", "--seed"}, "--seed needs a value");
  expect_refusal({"c.json", "--checkpoint_dir", "--wandb"}, "--checkpoint_dir needs a value");
  expect_refusal({"c.json", "--num_processes", "many"}, "--num_processes");
}

}  // namespace
}  // namespace paceline::launcher
