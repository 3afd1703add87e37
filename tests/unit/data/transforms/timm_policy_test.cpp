#include "paceline/data/transforms/timm_policy.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(TimmPolicy, ReadsTimmsTexts) {
  const TimmPolicy usual = parse_timm_policy("rand-m9-mstd0.5-inc1");
  EXPECT_EQ(usual.magnitude, 9);
  EXPECT_EQ(usual.deviation, 0.5);
  EXPECT_TRUE(usual.increasing);
  EXPECT_EQ(usual.num_ops, 2);
  EXPECT_EQ(usual.probability, 0.5);
  EXPECT_EQ(usual.highest, 10);
  const TimmPolicy weighted = parse_timm_policy("rand-n3-tweights-mstd101-p0.25-mmax30");
  EXPECT_EQ(weighted.ops, "weights");
  EXPECT_EQ(weighted.deviation, TimmPolicy::kUniform);
  EXPECT_EQ(weighted.num_ops, 3);
  EXPECT_EQ(weighted.probability, 0.25);
  EXPECT_EQ(weighted.highest, 30);
  EXPECT_EQ(weighted.magnitude, 10);
  EXPECT_EQ(parse_timm_policy("rand").ops, "");
}

TEST(TimmPolicy, SaysWhichPartIsWrong) {
  const auto message_of = [](const std::string& text) {
    try {
      parse_timm_policy(text);
    } catch (const base::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_of("v0-mstd0.5"), HasSubstr("'v0': a policy begins with rand"));
  EXPECT_THAT(message_of(""), HasSubstr("a policy begins with rand"));
  EXPECT_THAT(message_of("rand-m9-q3"), HasSubstr("'q3': known are m9"));
  EXPECT_THAT(message_of("rand-m"), HasSubstr("'m': no number is at its end"));
  EXPECT_THAT(message_of("rand-m9.5"), HasSubstr("'m9.5': takes a whole number"));
  EXPECT_THAT(message_of("rand-p1.5"), HasSubstr("'p1.5': a probability is at most 1"));
  EXPECT_THAT(message_of("rand-t5"), HasSubstr("'t5': the sets of operations are"));
  EXPECT_THAT(message_of("rand-t3aw-n15"), HasSubstr("'n15': t3aw has 14 operations"));
}

}  // namespace
}  // namespace paceline::data
