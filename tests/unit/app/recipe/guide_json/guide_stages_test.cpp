#include "guide_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GuideStages, EachStageIsAPhaseThatTrainsIt) {
  const GuideText text(guide_document());
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("model.stages"),
            "[{volume_size: 64, patch: 4, dim: 256, depth: 4, heads: 4}, "
            "{volume_size: 128, patch: 8, dim: 384, depth: 6, heads: 6}]");
  EXPECT_EQ(text.at("phases.stage1"),
            "{model: {num_stages: 1}, data: {side: 64}, task: {physics_weight: 0.3}}");
  EXPECT_EQ(text.at("phases.stage2"),
            "{start_from: best, model: {num_stages: 2}, data: {side: 128}, task: {physics_weight: "
            "0.4}}");
}

TEST(GuideStages, TheShorterSchemaIsReadToo) {
  const GuideText text(R"({"stages": [{"volume_size": 32, "voxel_dim": 48},
                                      {"name": "fine", "volume_size": [64, 64, 64],
                                       "use_physics_loss": false, "physics_weight": 0.4}]})");
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("model.stages"),
            "[{volume_size: 32, patch: 2, dim: 48}, {volume_size: 64, patch: 4}]");
  EXPECT_EQ(text.at("phases.stage1.task"), "absent") << "the task's own weight";
  EXPECT_EQ(text.at("phases.fine.task.physics_weight"), "0");
}

TEST(GuideStages, AStageMayHaveStepsOfItsOwn) {
  const GuideText text(R"({"stage_configs": [{"volume_size": 64, "gradient_checkpointing": true,
    "mixed_precision": "bf16", "accumulation_steps": 2, "batch_size": 3, "num_epochs": 7,
    "learning_rate": 2e-5}], "training": {"gradient_checkpointing": true}})");
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("phases.stage1.train"),
            "{precision: bf16, duration: 7ep, grad_accum_steps: 2, activation_checkpointing: "
            "{every: 1}}");
  EXPECT_EQ(text.at("phases.stage1.data"), "{side: 64, batch_size_per_rank: 3}");
  EXPECT_EQ(text.at("phases.stage1.optimizer"), "{lr: 2e-5}");
}

TEST(GuideStages, AStageMayKeepItsActivationsWhereOthersDoNot) {
  const GuideText text(R"({"stage_configs": [{"volume_size": 64, "gradient_checkpointing": false},
    {"volume_size": 128}], "training": {"gradient_checkpointing": true}})");
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("train.activation_checkpointing"), "{every: 1}");
  EXPECT_EQ(text.at("phases.stage1.train"), "{activation_checkpointing: null}");
  EXPECT_EQ(text.at("phases.stage2.train"), "absent");
}

TEST(GuideStages, WhatIsNoStageIsRefused) {
  const GuideText text(R"({"stage_configs": [
    {"name": "a", "volume_size": [64, 64, 32]},
    {"name": "a", "volume_size": 100},
    {"name": "a.b"},
    {"volume_size": 64, "use_depth_lifting": false, "dim": 3}]})");
  EXPECT_THAT(
      text.problems(),
      AllOf(HasSubstr("guide.json:2: stage_configs[0].volume_size: must be the three equal sides"),
            HasSubstr("guide.json:3: stage_configs[1].volume_size: must be a multiple of 16"),
            HasSubstr("stage_configs[1].name: two stages are called a"),
            HasSubstr("stage_configs[2].name: must be of letters, digits, '-' and '_', as stage3"),
            HasSubstr("guide.json:4: stage_configs[2].volume_size: is missing"),
            HasSubstr("stage_configs[3].use_depth_lifting: every stage lifts X-rays"),
            HasSubstr("stage_configs[3].dim: has no meaning here")));
  EXPECT_THAT(GuideText(R"({"stage_configs": {}})").problems(),
              HasSubstr("guide.json:1: stage_configs: must be a list of stages"));
  EXPECT_THAT(GuideText(R"({"stages": []})").problems(), HasSubstr("stages: must be a list"));
  EXPECT_THAT(GuideText(R"({"stages": [1], "stage_configs": [2]})").problems(),
              HasSubstr("stages: says the same as stage_configs"));
}

}  // namespace
}  // namespace paceline::app
