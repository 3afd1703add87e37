#include "paceline/data/transforms/timm_augment.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(TimmAugment, OtherSetsHaveOtherOperations) {
  EXPECT_EQ(timm_ops("", false).size(), 15u);
  EXPECT_EQ(timm_ops("", true)[4].op, TimmOp::kPosterizeIncreasing);
  EXPECT_EQ(timm_ops("3a", true).size(), 3u);
  EXPECT_EQ(timm_ops("3aw", false)[0].weight, 6);
  EXPECT_EQ(timm_ops("weights", false)[0].op, TimmOp::kRotate);
  EXPECT_TRUE(timm_ops("other", true).empty());
}

TEST(TimmAugment, ReversedLevelsAreAcrossNoChange) {
  EXPECT_EQ(timm_argument(TimmOp::kRotate, 5, true), -15);
  EXPECT_DOUBLE_EQ(timm_argument(TimmOp::kColorIncreasing, 5, true), 0.55);
  EXPECT_DOUBLE_EQ(timm_argument(TimmOp::kColorIncreasing, 12, true), 0.1);
  EXPECT_FALSE(has_sign(TimmOp::kColor));
  EXPECT_TRUE(has_sign(TimmOp::kTranslateYRel));
}

}  // namespace
}  // namespace paceline::data
