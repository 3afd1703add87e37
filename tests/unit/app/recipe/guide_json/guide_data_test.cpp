#include "guide_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(GuideData, EveryKeyHasItsPlace) {
  const GuideText text(guide_document(
      R"("batch_size": 1)", R"("dataset_path": "$HOME/a$/${B}", "train_split": 0.8,
         "val_split": 0.1, "test_split": 0.1, "normalize_range": [-1, 1], "target_xray_size": 256,
         "target_volume_size": [128, 128, 128], "augmentation": false, "cache_in_memory": true,
         "num_workers": 0, "pin_memory": true, "flip_drrs_vertical": true)",
      R"(, "xray_config": {"img_size": 256, "num_views": 2, "share_view_weights": false,
         "view_types": ["frontal", "lateral"]})"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("data.name"), "ct");
  EXPECT_EQ(text.at("data.path"), "\"${HOME}/a$/${B}\"");
  EXPECT_EQ(text.at("data.xray_size"), "256");
  EXPECT_EQ(text.at("data.geometry.angles"), "[0, 90]");
  EXPECT_EQ(text.at("data.cache_in_memory"), "10GB");
  EXPECT_EQ(text.at("data.num_threads"), "1") << "the process itself";
  EXPECT_EQ(text.at("data.augment"), "absent");
  EXPECT_EQ(text.at("model.name"), "ct_cascade");
  EXPECT_EQ(text.at("model.xray_size"), "256");
  EXPECT_EQ(text.at("model.num_views"), "2");
  EXPECT_EQ(text.at("model.view_types"), "[frontal, lateral]");
  EXPECT_EQ(text.at("model.share_view_weights"), "false");
  EXPECT_THAT(text.notes(), IsEmpty());
}

TEST(GuideData, OneViewNeedsNoList) {
  const GuideText text(
      guide_document("", "", R"(, "xray_config": {"num_views": 1, "view_type": "lateral"})"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("model.view_types"), "[lateral]");
  EXPECT_EQ(text.at("data.geometry.angles"), "[90]");
  const GuideText quick(
      guide_document("", "", R"(, "xray_img_size": 64, "num_views": 1, "xray_channels": 1)"));
  EXPECT_EQ(quick.problems(), "");
  EXPECT_EQ(quick.at("model.view_types"), "[frontal]");
  EXPECT_EQ(quick.at("model.xray_size"), "64");
  const GuideText bare(guide_document());
  EXPECT_EQ(bare.at("model.num_views"), "2");
  EXPECT_EQ(bare.at("data.xray_size"), "absent") << "that of the files";
}

TEST(GuideData, MirroredPatientsAreProjectedAnewWhichIsTold) {
  const GuideText text(guide_document("", R"("augmentation": true)"));
  EXPECT_EQ(text.problems(), "");
  EXPECT_EQ(text.at("data.augment"), "{flip: true, gain: [0.9, 1.1]}");
  EXPECT_EQ(text.at("data.xrays"), "projected");
  EXPECT_THAT(text.notes(), ElementsAre(HasSubstr("data.augment.flip=false data.xrays=files")));
}

TEST(GuideData, ViewsAreComparedUnlessItSaysNot) {
  for (const std::string value : {"true", "false"}) {
    const GuideText text(guide_document("", R"("validate_alignment": )" + value));
    EXPECT_EQ(text.problems(), "");
    EXPECT_EQ(text.at("data.validate_alignment"), value);
  }
  EXPECT_EQ(GuideText(guide_document()).at("data.validate_alignment"), "absent");
}

TEST(GuideData, WhatHasNoMeaningIsRefused) {
  EXPECT_THAT(
      GuideText(
          guide_document(R"("num_workers": 2)",
                         R"("train_split": 0.7, "normalize_range": [0, 1], "target_xray_size": 512,
                       "target_volume_size": [256, 256, 256], "max_patients": 100,
                       "num_workers": 3, "pin_memory": false, "batch": "x")",
                         R"(, "xray_img_size": 256, "xray_channels": 3)"))
          .problems(),
      AllOf(HasSubstr("data.train_split: patients are dealt out by `paceline data prepare ct`"),
            HasSubstr("data.normalize_range: volumes and X-rays are -1 to 1"),
            HasSubstr("data.target_xray_size: the network sees X-rays of '256' pixels"),
            HasSubstr("data.target_volume_size: the last stage makes volumes of 128 voxels"),
            HasSubstr("data.max_patients: takes from training and evaluation alike"),
            HasSubstr("data.num_workers: training.num_workers says otherwise"),
            HasSubstr("data.pin_memory: batches for a GPU always lie in pinned memory"),
            HasSubstr("xray_channels: X-rays are grey"),
            HasSubstr("data.batch: has no meaning here: take it out")));
}

}  // namespace
}  // namespace paceline::app
