#include "paceline/app/evaluation/eval_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EvalViews, SayWhatTheyMean) {
  EXPECT_THAT(describe(EvalViews{}), IsEmpty());
  EXPECT_FALSE(EvalViews{.size = 288}.change_logits());
  const EvalViews all{
      .size = 288, .crop_pct = 0.95, .flip = true, .temperature = 1.5, .class_map = "a.yaml"};
  EXPECT_TRUE(all.change_logits());
  EXPECT_THAT(describe(all),
              ElementsAre(HasSubstr("288 x 288 pixels"), HasSubstr("crop percentage 0.95"),
                          HasSubstr("its own and its mirror image's"), HasSubstr("divided by 1.5"),
                          HasSubstr("class map a.yaml")));
  EXPECT_THAT(describe(EvalViews{.shift = 2}),
              ElementsAre(HasSubstr("moved down and right by 2 px")));
  EXPECT_TRUE(EvalViews{.shift = 2}.change_logits());
  EXPECT_THAT(describe(EvalViews{.flip = true, .ten_crop = true}),
              ElementsAre(HasSubstr("ten crops")));
}

}  // namespace
}  // namespace paceline::app
