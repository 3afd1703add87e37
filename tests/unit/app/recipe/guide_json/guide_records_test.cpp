#include "guide_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(GuideRecords, TheBestIsByPsnrAfterEachEpoch) {
  const GuideText text(guide_document("", "", R"(, "model_name": "cascade", "description": "x")"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("checkpoint"), "{monitor: val/psnr, every: 1ep}");
  EXPECT_EQ(text.at("run"), "{name: cascade}");
  EXPECT_EQ(text.at("loggers"), "absent");
  EXPECT_THAT(text.notes(), IsEmpty());
}

TEST(GuideRecords, IntervalsAndPlacesAreKept) {
  const GuideText text(guide_document("", "", R"(,
    "checkpointing": {"checkpoint_dir": "out", "save_every_n_epochs": 6,
                      "keep_last_n_checkpoints": 4},
    "logging": {"wandb": {"enabled": true, "project": "p", "entity": null, "run_name": "seventh"},
                "log_every_n_steps": 50, "validate_every_n_epochs": 4})"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("checkpoint"), "{monitor: val/psnr, every: 2ep, keep_last: 4}")
      << "after each evaluation, too";
  EXPECT_EQ(text.at("train.eval_every"), "4ep");
  EXPECT_EQ(text.at("run"), "{dir: out, name: seventh}");
  EXPECT_EQ(text.at("loggers"),
            "{console: {interval_steps: 50}, jsonl: {}, system: {}, tensorboard: {}}");
  EXPECT_THAT(text.notes(), ElementsAre(HasSubstr("logging.wandb: there is no W&B here")));
}

TEST(GuideRecords, OtherKeysAreRefused) {
  EXPECT_THAT(GuideText(guide_document("", "", R"(,
    "checkpointing": {"keep": 3, "save_every_n_epochs": 0},
    "logging": {"wandb": {"enabled": "yes", "group": "g"}, "csv": true})"))
                  .problems(),
              AllOf(HasSubstr("checkpointing.keep: has no meaning here"),
                    HasSubstr("checkpointing.save_every_n_epochs: must be a whole number"),
                    HasSubstr("logging.wandb.enabled: must be true or false"),
                    HasSubstr("logging.wandb.group: has no meaning here"),
                    HasSubstr("logging.csv: has no meaning here")));
}

}  // namespace
}  // namespace paceline::app
