#include "paceline/models/fields/fused_mode.h"

#include "paceline/base/error.h"
#include "paceline/nn/rerun.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

TEST(ChooseFused, TakesWhatIsPossible) {
  EXPECT_EQ(choose_fused(FusedMode::kAuto, at::kFloat), at::kFloat);
  EXPECT_EQ(choose_fused(FusedMode::kAuto, std::nullopt), std::nullopt);
  EXPECT_EQ(choose_fused(FusedMode::kOn, at::kBFloat16), at::kBFloat16);
  EXPECT_THROW(choose_fused(FusedMode::kOn, std::nullopt), base::ConfigError);
  EXPECT_EQ(choose_fused(FusedMode::kOff, at::kFloat), std::nullopt);
}

TEST(ChooseFused, GivesWayToCheckpointsThatKeepMatmuls) {
  nn::Rerun rerun(/*keeps_matmuls=*/true);
  const nn::Rerun::Scope run(rerun);
  EXPECT_EQ(choose_fused(FusedMode::kAuto, at::kFloat), std::nullopt);
  EXPECT_THROW(choose_fused(FusedMode::kOn, at::kFloat), base::ConfigError);
}

}  // namespace
}  // namespace paceline::models
