#include "guide_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GuideTraining, EveryKeyHasItsPlace) {
  const GuideText text(guide_document(R"("num_timesteps": 500, "v_parameterization": true,
    "batch_size": 8, "learning_rate": 2e-4, "num_epochs_per_stage": 30, "gradient_clip": 0.5,
    "ema_decay": 0.999, "gradient_checkpointing": true, "mixed_precision": "fp16",
    "accumulation_steps": 2, "weight_decay": 0.02, "batch_size_stage2": 4)"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("train"),
            "{duration: 30ep, grad_clip_norm: 0.5, precision: fp16, grad_accum_steps: 2, "
            "activation_checkpointing: {every: 1}}");
  EXPECT_EQ(text.at("optimizer"), "{name: adamw, lr: 2e-4, weight_decay: 0.02}");
  EXPECT_EQ(text.at("schedule"), "{name: constant}");
  EXPECT_EQ(text.at("algorithms.plateau"), "{monitor: val/loss, factor: 0.5, patience: 5}");
  EXPECT_EQ(text.at("algorithms.ema.smoothing"), "0.999");
  EXPECT_EQ(text.at("algorithms.ema.warmup_power"), "0.6667");
  EXPECT_EQ(text.at("algorithms.ema.evaluate"), "average");
  EXPECT_EQ(text.at("task"), "{name: ct_diffusion, num_timesteps: 500}");
  EXPECT_EQ(text.at("data.batch_size_per_rank"), "8");
  EXPECT_EQ(text.at("phases.stage1.data.batch_size_per_rank"), "absent");
  EXPECT_EQ(text.at("phases.stage2.data.batch_size_per_rank"), "4");
}

TEST(GuideTraining, WhatIsLeftOutIsTheGuides) {
  const GuideText text(R"({"stages": [{"volume_size": 64}], "num_timesteps": 200,
                           "v_parameterization": true, "training": {"num_epochs": 50}})");
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("train"), "{duration: 50ep, grad_clip_norm: 1.0}");
  EXPECT_EQ(text.at("optimizer"), "{name: adamw, lr: 1e-4, weight_decay: 0.01}");
  EXPECT_EQ(text.at("algorithms.ema.smoothing"), "0.9999");
  EXPECT_EQ(text.at("data.batch_size_per_rank"), "4");
  EXPECT_EQ(text.at("task.num_timesteps"), "200");
}

TEST(GuideTraining, PrecisionsHaveSeveralNames) {
  for (const auto& [theirs, ours] : std::initializer_list<std::pair<const char*, const char*>>{
           {"true", "fp16"}, {"false", "fp32"}, {"\"no\"", "fp32"}, {"\"bf16\"", "bf16"}}) {
    const GuideText text(guide_document("\"mixed_precision\": " + std::string(theirs)));
    EXPECT_EQ(text.at("train.precision"), ours);
  }
  EXPECT_EQ(GuideText(guide_document(R"("gradient_checkpointing": false)"))
                .at("train.activation_checkpointing"),
            "null");
  EXPECT_EQ(GuideText(guide_document(R"("ema_decay": 0)")).at("algorithms.ema"), "absent");
}

TEST(GuideTraining, WhatHasNoMeaningIsRefused) {
  EXPECT_THAT(
      GuideText(guide_document(R"("mixed_precision": "fp8", "v_parameterization": false,
                                  "num_epochs": 0, "num_epochs_per_stage": 1, "optimiser": "sgd")"))
          .problems(),
      AllOf(HasSubstr("training.mixed_precision: must be \"fp16\", \"bf16\", \"no\", or true"),
            HasSubstr("v_parameterization: the network tells x_0"),
            HasSubstr("training.num_epochs: says the same as num_epochs_per_stage"),
            HasSubstr("training.optimiser: has no meaning here")));
  EXPECT_THAT(
      GuideText(guide_document(R"("num_timesteps": 3)", "", R"(, "num_timesteps": 3)")).problems(),
      HasSubstr("num_timesteps: training.num_timesteps says it, too"));
  const std::string twice = R"({"stage_configs": [{"volume_size": 64, "batch_size": 2}],
                               "training": {"batch_size_stage1": 3}})";
  EXPECT_THAT(GuideText(twice).problems(),
              HasSubstr("training.batch_size_stage1: stage stage1 has a batch_size of its own"));
}

}  // namespace
}  // namespace paceline::app
