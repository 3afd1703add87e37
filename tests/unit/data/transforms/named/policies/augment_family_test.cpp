#include "paceline/data/transforms/named/policies/augment_family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using enum AugmentFamily;
using ::testing::HasSubstr;

TEST(AugmentFamily, RefusesWhatItDoesNotHave) {
  config::Problems problems;
  refuse_others_settings(kComposer,
                         {{"ops", true, {kComposer}},
                          {"policy", false, {kTimm}},
                          {"fill", true, {kTorchvision, kTimm}}},
                         problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.message(), HasSubstr("fill: family composer has no such setting, only "
                                            "torchvision and timm: take it out"));
}

}  // namespace
}  // namespace paceline::data
